//go:build unix

package ownpath

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestClean(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at := func(path string) string { return filepath.Join(base, path) }
	for _, dir := range []string{"safe", "work/.venv/bin", "workshop", "links", "other", "elsewhere/bin"} {
		if err := os.MkdirAll(at(dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{
		"into": at("work/.venv"), "work/out": at("elsewhere"), "again": "into",
		"links/git-lfs": "../work/lfs", "other/mine": "../work/mine", "workshop/git": "../elsewhere/bin/git", "round": "round",
	} {
		if err := os.Symlink(target, at(link)); err != nil {
			t.Fatal(err)
		}
	}
	open := []Open{{Dir: at("work"), Who: "session w/agent"}}
	for _, c := range []struct {
		name, dir, why string // why is "" for a directory that stays
		open           []Open
	}{
		{"another", at("safe"), "", open},
		{"a name that begins like it", at("workshop"), "", open},
		{"itself", at("work"), "session w/agent can write there", open},
		{"in it", at("work/.venv/bin"), "session w/agent can write there", open},
		{"in it, and not there yet", at("work/none/bin"), "session w/agent can write there", open},
		{"by a link", at("into/bin"), "session w/agent can write there", open},
		{"by two links", at("again/bin"), "session w/agent can write there", open},
		{"by way of a link in it", at("work/out/bin"), "session w/agent can write there", open},
		{"by way of it", at("work") + "/.venv/../../safe", "session w/agent can write there", open},
		{"a link that goes round", at("round"), "", open},
		{"a program of git's is a link into it", at("links"), "git-lfs there is a link to where the sandbox of session w/agent can write", open},
		{"a program that nobody here looks for is one", at("other"), "", open},
		{"relative", "bin", "not an absolute path", open},
		{"relative, and nothing is open", ".", "not an absolute path", nil},
		{"empty", "", "not an absolute path", nil},
		{"nothing is open", at("work"), "", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			const last = "/usr/bin"
			given := c.dir + string(filepath.ListSeparator) + last
			t.Setenv("PATH", given)
			more, err := Clean(c.open)
			if err != nil {
				t.Fatal(err)
			}
			want := last
			if c.why == "" {
				want = given
			}
			if got := os.Getenv("PATH"); got != want {
				t.Errorf("PATH=%s, want %s", got, want)
			}
			if c.why == "" && len(more) > 0 || c.why != "" && (len(more) != 1 || more[0].Dir != c.dir || !strings.Contains(more[0].Why, c.why)) {
				t.Errorf("left out: %+v", more)
			}
			if !slices.Equal(more, LeftOut()) || !slices.Contains(Environ(), "PATH="+given) {
				t.Errorf("%+v, %q", LeftOut(), Environ())
			}
			if more, err := Clean(c.open); len(more) > 0 || err != nil {
				t.Errorf("again: %+v, %v", more, err)
			}
			if _, err := Clean(nil); err != nil {
				t.Fatal(err)
			}
			if got := os.Getenv("PATH"); filepath.IsAbs(c.dir) && got != given {
				t.Errorf("once nothing is open: PATH=%s", got)
			}
		})
	}
}

// The programs that variables of git name count too, and an error names what is left out.
func TestCleanOfGit(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	work := filepath.Join(base, "work")
	t.Setenv("PATH", work)
	t.Setenv("GIT_EXEC_PATH", filepath.Join(work, "core"))
	t.Setenv("GIT_SSH", filepath.Join(base, "ssh"))
	if _, err := Clean([]Open{{Dir: work, Who: "session w/agent"}}); err != nil {
		t.Fatal(err)
	}
	if _, set := os.LookupEnv("GIT_EXEC_PATH"); set {
		t.Error("GIT_EXEC_PATH is left")
	}
	if os.Getenv("GIT_SSH") != filepath.Join(base, "ssh") {
		t.Error("GIT_SSH is gone")
	}
	_, err = exec.LookPath("git")
	if err = Explain(err); err == nil || !strings.Contains(err.Error(), `"`+work+`": the sandbox of session w/agent can write there`) {
		t.Errorf("%v", err)
	}
}
