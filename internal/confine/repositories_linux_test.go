package confine

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"middleman/internal/config"
	"middleman/internal/sandbox"
	"middleman/internal/testenv"
)

// Repositories of the user's in directories that the settings add: a program in the sandbox
// changes neither their settings nor which repository is there; Landlock refuses the session.
func TestRepositoriesInWritable(t *testing.T) {
	for _, method := range []sandbox.Method{sandbox.Bubblewrap, sandbox.Landlock} {
		for _, tt := range []struct{ name, repository, writable, want string }{
			{"at the top", "notes", "~/notes", "notes/.git"},
			{"an entry", "notes/x", "~/notes", "notes/x"},
			{"further below", "notes/a/b/x", "~/notes", "notes/a"},
			{"of the profile", "notes", "PROFILE", "notes/.git"},
			{"none", "elsewhere", "~/notes", ""},
		} {
			t.Run(string(method)+"/"+tt.name, func(t *testing.T) {
				needMethod(t, method)
				p := dotfiles(t, method)
				at := filepath.Join(p.maker.Home, tt.repository)
				git := func(args ...string) string {
					t.Helper()
					cmd := exec.Command("git", append([]string{"-C", at}, args...)...)
					cmd.Env = testenv.GitEnv(p.maker.Home)
					out, err := cmd.CombinedOutput()
					if err != nil {
						t.Fatalf("git %q: %v\n%s", args, err, out)
					}
					return string(out)
				}
				write(t, filepath.Join(at, "file"), "text", time.Now())
				git("init", "-q")
				p.maker.Settings.Writable = []string{tt.writable}
				if tt.writable == "PROFILE" {
					p.maker.Settings.Writable, p.session.Profile.Writable = nil, []string{"~/notes"}
				}
				ran := filepath.Join(p.session.Root, "ran")
				c, out, refused := p.run(t, `echo x >>"`+p.maker.Home+`/notes/free" && echo free; cd "`+at+`" && { mv ../x ../y; mv ../../b ../../c; mv .git old; mkdir .git
					git config core.fsmonitor "touch '`+ran+`'; false"; cp -r .git/. old; }; true`)
				if tt.want == "" {
					if refused != "" || c.Policy.ReadOnly != nil {
						t.Errorf("refused with %q, read-only %q", refused, c.Policy.ReadOnly)
					}
					return
				}
				want := filepath.Join(p.maker.Home, tt.want)
				if method == sandbox.Landlock {
					if !strings.Contains(refused, "Landlock cannot protect") || !strings.Contains(refused, want) {
						t.Errorf("refused with %q", refused)
					}
					return
				}
				if refused != "" || !strings.Contains(out, "free\n") || !slices.Equal(c.Policy.ReadOnly, []string{want}) {
					t.Fatalf("refused with %q, read-only %q\n%s", refused, c.Policy.ReadOnly, out)
				}
				git("status", "--short")
				if _, err := os.Lstat(ran); err == nil {
					t.Errorf("git ran what a program in the sandbox has named\n%s", out)
				}
			})
		}
	}
}

// git of the user's enters the submodules of a checkout, also one that is not filled yet.
func TestSubmodulesInWritable(t *testing.T) {
	needMethod(t, sandbox.Bubblewrap)
	p := dotfiles(t, sandbox.Bubblewrap)
	repo := testenv.EmptyRepo(t)
	repo.Write("file", "text")
	repo.Commit("first")
	repo.Git("update-index", "--add", "--cacheinfo", "160000,"+strings.TrimSpace(repo.Git("rev-parse", "HEAD"))+",deep/module")
	repo.Git("worktree", "add", "-q", filepath.Join(repo.Dir, "tree"))
	repo.Git("config", "include.path", "../settings/git")
	repo.Write("settings/git", "")
	p.maker.Settings.Writable = []string{repo.Dir}
	c, out, refused := p.run(t, `cd "`+repo.Dir+`" && echo x >file && echo free; git init -q deep/module; mv deep x; mv tree y; echo evil >settings/git; mv settings z; true`)
	var want []string
	for _, name := range []string{".git", "settings", "tree", "deep"} {
		want = append(want, filepath.Join(repo.Dir, name))
	}
	if refused != "" || !strings.HasPrefix(out, "free\n") || !slices.Equal(c.Policy.ReadOnly, want) {
		t.Fatalf("refused with %q, read-only %q, want %q\n%s", refused, c.Policy.ReadOnly, want, out)
	}
	for _, name := range []string{"deep/module/.git", "x", "y", "z"} {
		if _, err := os.Lstat(filepath.Join(repo.Dir, name)); err == nil {
			t.Errorf("a program in the sandbox made %s\n%s", name, out)
		}
	}
}

// The workspace's own repository in a writable directory: the private git directory is in its
// place, and a workspace that could be renamed itself is refused.
func TestWritableAroundTheRepository(t *testing.T) {
	needMethod(t, sandbox.Bubblewrap)
	p := dotfiles(t, sandbox.Bubblewrap)
	p.maker.Settings = config.Sandbox{Writable: []string{"~/notes"}}
	dot := filepath.Join(p.maker.Home, "notes/x/.git")
	write(t, filepath.Join(dot, "HEAD"), "the user's", time.Now())
	private := filepath.Join(p.maker.Dirs.Data, "git")
	write(t, filepath.Join(private, "HEAD"), "private", time.Now())
	p.session.Git.Binds = []sandbox.Bind{{From: private, To: dot, Write: true}}
	_, out, refused := p.run(t, `cd "`+dot+`" && cat HEAD && echo x >new && echo written; touch ../new; true`)
	if refused != "" || !strings.Contains(out, "private") || !strings.Contains(out, "written\n") {
		t.Errorf("refused with %q\n%s", refused, out)
	}
	if _, err := os.Lstat(filepath.Join(dot, "../new")); err == nil {
		t.Error("it wrote beside .git")
	}
	p.session.Git.Binds = nil
	p.session.Root = filepath.Dir(dot)
	p.session.Dir = p.session.Root
	if _, _, refused = p.run(t, "true"); !strings.Contains(refused, "holds a repository and the workspace") {
		t.Errorf("refused with %q", refused)
	}
}
