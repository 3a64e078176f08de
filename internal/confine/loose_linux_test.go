package confine

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"middleman/internal/config"
)

// A copy must not be more open than what it is a copy of. What only the copy has, and what
// is no plain file, is the program's.
func TestLooseCopies(t *testing.T) {
	top := filepath.Join(t.TempDir(), "a[b")
	dirs := config.Dirs{Data: filepath.Join(top, "data")}
	from, to := filepath.Join(top, ".agent"), filepath.Join(dirs.Private("w1"), copiesDirectory, "agent-1")
	for _, f := range []struct {
		name        string
		own, inside os.FileMode // 0 for none
	}{
		{"private", 0o600, 0o600}, {"tightened", 0o644, 0o600}, {"open", 0o644, 0o644}, {"new", 0, 0o644}, {"gone", 0o600, 0},
		{"loose", 0o600, 0o644}, {"below/group", 0o600, 0o640}, {"run", 0o644, 0o755}, {".agent.json", 0, 0o644}, {"link", 0, 0},
	} {
		for dir, mode := range map[string]os.FileMode{from: f.own, to: f.inside} {
			path := filepath.Join(dir, f.name)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if mode == 0 {
				continue
			}
			if err := os.WriteFile(path, nil, mode); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(path, mode); err != nil { // whatever the umask
				t.Fatal(err)
			}
		}
	}
	for path, text := range map[string]string{to + originSuffix: from, from + ".json": ""} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("open", filepath.Join(to, "link")); err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, p := range LooseCopies(dirs) {
		name, err := filepath.Rel(to, p.Path)
		if err != nil || !p.Loose {
			t.Errorf("%+v, %v", p, err)
		}
		found = append(found, name)
	}
	if want := []string{".agent.json", "below/group", "loose", "run"}; !slices.Equal(found, want) {
		t.Errorf("found %q, want %q", found, want)
	}
	if found := LooseCopies(config.Dirs{Data: top}); len(found) > 0 {
		t.Errorf("without a copy: %v", found)
	}
}
