//go:build unix

package git_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"middleman/internal/git"
)

// New objects are seen by nobody else until they land, and go if they do not. What the
// repository has, in packs and alternates too, is not stored again.
func TestStaging(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, x := range []struct{ name, setup, loose string }{ // loose: how many files have the object of a tracked one
		{"plain", "", "1"},
		{"packs", `git config core.bigFileThreshold 1k`, "1"},
		{"no packs yet", `git config core.bigFileThreshold 1k; rm -r .git/objects/pack`, "1"},
		{"packed", `git gc -q`, "0"},
		{"lent by a relative path", `git clone -q --bare . lender; echo ../../lender/objects >.git/objects/info/alternates; rm -r .git/objects/??`, "0"},
		{"shared with a group", `git config core.sharedRepository group; chmod -R g+ws .git/objects`, "1"},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), `odd: "name"`)
			script := `git init -q . && git config user.name n && git config user.email n@example.org && echo tracked >tracked && git add . && git commit -qm 1; ` + x.setup
			if err := os.Mkdir(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			shell(t, dir, script)
			if err := os.WriteFile(filepath.Join(dir, "large"), []byte(strings.Repeat("0123456789", 1000)), 0o600); err != nil {
				t.Fatal(err)
			}
			repo := git.Whole(filepath.Join(dir, ".git"))
			before := shell(t, dir, "find .git/objects | sort")
			store := func() (*git.Staging, string) {
				t.Helper()
				s, err := repo.Stage("w1")
				if err != nil {
					t.Fatal(err)
				}
				var names []string
				err = s.StoreFiles(ctx, dir, []string{"tracked", "large"}, func(_ int, object string) { names = append(names, object) })
				if err != nil {
					t.Fatal(err)
				}
				tree, err := s.MakeTree(ctx, "100644 blob "+names[0]+"\ta\n100644 blob "+names[1]+"\tb\n")
				if err != nil {
					t.Fatal(err)
				}
				return s, tree
			}
			s, tree := store()
			if kind, err := repo.Look("cat-file", "-t", tree).Line(ctx); err == nil {
				t.Errorf("before it landed: a %s", kind)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if after := shell(t, dir, "find .git/objects | sort"); after != before {
				t.Errorf("closed, it left %s", after)
			}
			for range 2 { // the second time all of it is there
				s, tree = store()
				if err := errors.Join(s.Land(), s.Close()); err != nil {
					t.Fatal(err)
				}
			}
			shell(t, dir, "git cat-file -e "+tree+":a && git cat-file -e "+tree+":b && git fsck --strict && ! find .git/objects | grep tmp_")
			if n := shell(t, dir, "find .git/objects -name $(git rev-parse HEAD:tracked | cut -c3-) | wc -l"); strings.TrimSpace(n) != x.loose {
				t.Errorf("%s files have what is tracked, want %s", n, x.loose)
			}
			if _, err := os.Lstat(s.Objects); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the directory: %v", err)
			}
			if strings.Contains(x.setup, "group") {
				shell(t, dir, "! find .git/objects -type f ! -perm -g+r | grep . && ! find .git/objects -type d ! -perm -g+ws | grep .")
			}
		})
	}
}

// shell runs a script in dir and returns what it prints.
func shell(t *testing.T, dir, script string) string {
	t.Helper()
	cmd := exec.Command("sh", "-euc", script)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v: %s", script, err, out)
	}
	return string(out)
}
