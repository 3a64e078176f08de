package quarantine_test

import (
	"os"
	"path/filepath"
	"testing"

	"middleman/internal/quarantine"
	"middleman/internal/sandbox"
)

// Git gives directories of a shared repository set-group-ID, which a sandbox refuses. The
// private directory is this user's alone, whatever the repository or the user's settings
// say, so commits go on, and arrive as ever.
func TestSharedRepository(t *testing.T) {
	const work = `umask 022; echo new >new; git add new; git commit -qm inside; git switch -qc other/deep; git commit -q --allow-empty -m two
		git switch -q mine; git stash list; git gc -q --prune=now; git fsck --no-progress; git status`
	for _, c := range []struct {
		name   string
		flags  []string
		global string
		in     bool // the workspace is the main checkout
	}{
		{"the repository's", []string{"--shared=group"}, "", false},
		{"the main checkout's", []string{"--shared=group"}, "", true},
		{"all can read", []string{"--shared=all"}, "", false},
		{"the user's", nil, "[core]\n\tsharedRepository = group\n", false},
	} {
		for _, method := range []sandbox.Method{sandbox.Bubblewrap, sandbox.Landlock} {
			if c.in && method == sandbox.Landlock {
				continue // which is refused
			}
			t.Run(c.name+" "+string(method), func(t *testing.T) {
				if s := sandbox.Probe(); method == sandbox.Landlock && s.NoLandlock != "" {
					t.Skip(s.NoLandlock)
				}
				x := newWorld(t, c.flags...)
				if c.in {
					x.inMainCheckout()
				}
				if c.global != "" {
					if err := os.WriteFile(filepath.Join(x.repo.Home, ".gitconfig"), []byte(c.global), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				x.q = quarantine.At(filepath.Join(x.top, "quarantine"), x.w, method, x.hides)
				x.prepare(false)
				if method == sandbox.Bubblewrap {
					x.run(work)
				} else if out, err := x.tryLandlock(work); err != nil {
					t.Fatalf("%v\n%s", err, out)
				}
				if out := x.bring(); out.Commits != 1 || !out.Complete() {
					t.Errorf("%+v", out)
				}
				if subject := x.host("log", "-1", "--format=%s", ownBranch); subject != "inside" {
					t.Errorf("the branch is at %q", subject)
				}
			})
		}
	}
}
