//go:build unix

package tmux

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"middleman/internal/testenv"
)

// recorded returns what a real tmux of each version printed for our formats,
// by section.
func recorded(t *testing.T) map[string]map[string]string {
	t.Helper()
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) < 8 {
		t.Fatalf("recorded versions: %q, %v", files, err)
	}
	all := map[string]map[string]string{}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		sections := map[string]string{}
		for part := range strings.SplitSeq("\n"+string(b), "\n-- ") {
			name, text, _ := strings.Cut(part, " --\n")
			sections[name] = text
		}
		all[strings.TrimSuffix(filepath.Base(file), ".txt")] = sections
	}
	return all
}

// TestEveryVersionIsParsed: the marks of a session, of the user's pane beside
// it, and of a sibling session whose name begins as its own.
func TestEveryVersionIsParsed(t *testing.T) {
	const id = "s0123456789abcdef"
	for name, out := range recorded(t) {
		t.Run(name, func(t *testing.T) {
			v, err := parseVersion(out["version"])
			if err != nil || !v.atLeast(oldest) || !strings.HasPrefix(name, v.String()) {
				t.Errorf("version %v, %v", v, err)
			}
			marks := parseMarks(out["marks"])
			if want := []marked{{"%0", id, "/data dir/sessions/" + id}}; !slices.Equal(marks, want) {
				t.Errorf("marks %q, want %q", marks, want)
			}
		})
	}
}

// TestFeaturesByVersion: the table is what the tmux that is here does.
func TestFeaturesByVersion(t *testing.T) {
	c := client{tmux: "tmux", socket: testenv.TmuxSocket(t)}
	ctx := context.Background()
	if _, err := c.run(ctx, "new-session", "-d", "--", "sleep", "1000"); err != nil {
		t.Fatal(err)
	}
	v, err := versionOf(ctx, "tmux")
	if err != nil {
		t.Fatal(err)
	}
	for f, x := range features {
		if x.goes == "" {
			t.Errorf("feature %d does not say what goes without it", f)
		}
		has := false
		switch {
		case x.option != "":
			for _, scope := range []string{"-gs", "-gw"} {
				_, err := c.run(ctx, "show-options", scope, x.option)
				has = has || err == nil
			}
		default:
			list, err := c.run(ctx, "list-commands")
			if err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(list) {
				if usage, ok := strings.CutPrefix(line, "paste-buffer "); ok {
					flags, _, _ := strings.Cut(usage, "]")
					has = strings.Contains(flags, "S")
				}
			}
		}
		if has != v.has(f) {
			t.Errorf("version %v: feature %d (%s since %v) is %v", v, f, x.option, x.since, has)
		}
	}
}

// TestOwnerKnowsTheVersion: the owner of a session does not ask tmux for the version
// that the server knows, unless the program has changed.
func TestOwnerKnowsTheVersion(t *testing.T) {
	dir := t.TempDir()
	path, asked := filepath.Join(dir, "tmux"), filepath.Join(dir, "asked")
	script := "#!/bin/sh\necho >> '" + asked + "'\necho tmux 3.4\n"
	if err := os.WriteFile(path, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	find := func(s *Server) string {
		found, err := s.find(context.Background())
		if err != nil || s.version != (version{3, 4}) {
			t.Fatalf("version %v, %v", s.version, err)
		}
		return found
	}
	questions := func(want int) {
		t.Helper()
		if b, err := os.ReadFile(asked); err != nil || len(b) != want {
			t.Errorf("tmux was asked %d times, want %d; %v", len(b), want, err)
		}
	}
	s := New(Options{Tmux: path})
	raw, err := json.Marshal(s.configFor(find(s)))
	if err != nil {
		t.Fatal(err)
	}
	var c hostConfig
	if err := json.Unmarshal(raw, &c); err != nil {
		t.Fatal(err)
	}
	find(c.server())
	questions(1)
	if err := os.WriteFile(path, []byte(script+"# another\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	find(c.server())
	questions(2)
}
