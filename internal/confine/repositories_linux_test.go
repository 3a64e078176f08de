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

// A git directory that lies apart from its checkout is protected where a program may write,
// in the same directory, in another one and in the workspace, and so is what it shares.
func TestGitDirectoryApart(t *testing.T) {
	for _, method := range []sandbox.Method{sandbox.Bubblewrap, sandbox.Landlock} {
		for _, tt := range []struct{ name, checkout, store, want, refused string }{
			{"beside it", "notes/x", "notes/store/x.git", "notes/store", ""},
			{"of the directory itself", "notes", "notes/store/x.git", "notes/store", ""},
			{"in another directory", "notes/x", "other/x.git", "other/x.git", ""},
			{"in the workspace", "notes/x", "dots/sub/x.git", "dots/sub", ""},
			{"by a link", "notes/x", "way/x.git", "other/x.git", ""},
			{"of a worktree", "notes/x", "other/x.git", "other/x.git", ""},
			{"of a bare one's worktree", "notes/x", "other", "", "is or holds that directory"},
			{"a directory that may be written", "notes/x", "other", "", "is or holds that directory"},
			{"not there", "notes/x", "notes/gone", "", "make it yourself"},
			{"elsewhere", "notes/x", "safe/x.git", "notes/x", ""},
		} {
			t.Run(string(method)+"/"+tt.name, func(t *testing.T) {
				needMethod(t, method)
				p := dotfiles(t, method)
				at := func(name string) string { return filepath.Join(p.maker.Home, name) }
				write(t, at("other/file"), "text", time.Now())
				link(t, "other", at("way"))
				git := func(args ...string) string {
					t.Helper()
					cmd := exec.Command("git", args...)
					cmd.Env = append(testenv.GitEnv(p.maker.Home), "GIT_AUTHOR_NAME=x", "GIT_AUTHOR_EMAIL=x", "GIT_COMMITTER_NAME=x", "GIT_COMMITTER_EMAIL=x")
					out, err := cmd.CombinedOutput()
					if err != nil {
						t.Fatalf("git %q: %v\n%s", args, err, out)
					}
					return strings.TrimSpace(string(out))
				}
				write(t, at("notes/free"), "", time.Now())
				write(t, at(filepath.Join(filepath.Dir(tt.store), "here")), "", time.Now())
				if strings.Contains(tt.name, "worktree") {
					git("init", "-q", "--bare", at(tt.store))
					tree := git("-C", at(tt.store), "hash-object", "-w", "-t", "tree", os.DevNull)
					git("-C", at(tt.store), "worktree", "add", "--detach", at(tt.checkout), git("-C", at(tt.store), "commit-tree", "-m", "first", tree))
				} else {
					git("init", "-q", "--separate-git-dir", at(tt.store), at(tt.checkout))
				}
				// As it was named, and not as git has resolved it.
				if tt.name == "by a link" {
					write(t, at("notes/x/.git"), "gitdir: ../../way/x.git\n", time.Now())
				}
				if tt.name == "not there" {
					if err := os.RemoveAll(at(tt.store)); err != nil {
						t.Fatal(err)
					}
				}
				p.maker.Settings.Writable = []string{"~/notes", "~/other"}
				c, out, refused := p.run(t, `cd "`+p.maker.Home+`"; mv `+tt.store+` moved; mv `+filepath.Dir(tt.store)+` notes/moved; echo evil >>`+tt.store+`/config; true`)
				switch {
				case method == sandbox.Landlock:
					if refused == "" {
						t.Errorf("read-only %q", c.Policy.ReadOnly)
					}
				case tt.refused != "":
					if !strings.Contains(refused, tt.refused) {
						t.Errorf("refused with %q", refused)
					}
				case refused != "" || !slices.Contains(c.Policy.ReadOnly, at(tt.want)):
					t.Errorf("refused with %q, read-only %q", refused, c.Policy.ReadOnly)
				default:
					if raw, err := os.ReadFile(at(tt.store + "/config")); err != nil || strings.Contains(string(raw), "evil") {
						t.Errorf("%v: %q\n%s", err, raw, out)
					}
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
