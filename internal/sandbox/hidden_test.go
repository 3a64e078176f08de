package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestDefaultHidden(t *testing.T) {
	all := DefaultHidden("/h", "/d/middleman")
	for _, want := range []string{"/h/.ssh", "/h/.aws", "/h/.netrc", "/h/.config/gh", "/h/.mozilla", "/h/.bash_history", "/h/.claude", "/d/middleman"} {
		if !slices.Contains(all, want) {
			t.Errorf("%s is missing", want)
		}
	}
	if got := DefaultHidden("", "/d"); !slices.Equal(got, []string{"/d"}) {
		t.Errorf("without a home: %q", got)
	}
	seen := map[string]bool{}
	for _, path := range all {
		if checkPath(path) != nil || seen[path] {
			t.Errorf("%s is no path for a policy, or is there twice", path)
		}
		seen[path] = true
	}
}

// Hides is what rules makes of a policy.
func TestHides(t *testing.T) {
	p := Policy{
		Hidden:   []string{"/d", "/h/.ssh", "/w/.env", "/w/keys", "/s", "/both"},
		Show:     []string{"/s/open", "/both", "/w/keys/public"},
		Writable: []string{"/d/w", "/w"},
	}
	for path, want := range map[string]string{
		"/h": "", "/h/.ssh": "/h/.ssh", "/h/.ssh/key": "/h/.ssh", "/h/.ssh2": "", "/d/x": "/d", "/d/w": "", "/d/w/x": "",
		"/w/a": "", "/w/.env": "/w/.env", "/w/.env2": "", "/w/keys/a/b": "/w/keys", "/w/keys/public/a": "", "/s/x": "/s", "/s/open/x": "", "/both": "",
	} {
		if got := p.Hides(path); got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}

// The table in SECURITY.md names each path once.
func TestHiddenIsDocumented(t *testing.T) {
	page, err := os.ReadFile("../../SECURITY.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, group := range concealed {
		if row := "| " + group.what + " | `" + strings.Join(group.paths, "`, `") + "` |\n"; !strings.Contains(string(page), row) {
			t.Errorf("SECURITY.md lacks this row:\n%s", row)
		}
	}
	if list := ": `" + strings.Join(systemConcealed, "`, `") + "`.\n"; !strings.Contains(string(page), list) {
		t.Errorf("SECURITY.md lacks this list:\n%s", list)
	}
}

func TestExisting(t *testing.T) {
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{".ssh", "dotfiles/aws"} {
		if err := os.MkdirAll(filepath.Join(home, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range map[string]string{".aws": "dotfiles/aws", ".again": ".ssh", ".broken": "nowhere", ".all": ".", ".loop": ".loop"} {
		if err := os.Symlink(to, filepath.Join(home, name)); err != nil {
			t.Fatal(err)
		}
	}
	at := func(names ...string) (paths []string) {
		for _, name := range names {
			paths = append(paths, filepath.Join(home, name))
		}
		return paths
	}
	got, err := Existing(home, at(".ssh", ".aws", ".again", ".broken", ".missing")...)
	if want := at(".ssh", "dotfiles/aws"); err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, want %q: %v", got, want, err)
	}
	for _, name := range []string{".all", ".loop"} {
		if got, err := Existing(home, at(name)...); err == nil {
			t.Errorf("%s: %q", name, got)
		}
	}
}
