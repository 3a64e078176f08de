package workspace_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"middleman/internal/testenv"
	"middleman/workspace"
)

// kind is a kind of repository. make makes one that begins with a.txt at or
// near dir, and returns where the user stands. Where refused is set a creation
// is refused with it, and the error says what to do; else a workspace of it can
// be made, looked at, deleted and restored as any other.
type kind struct {
	name    string
	make    func(t *testing.T, dir string) string
	refused error
	says    string
	// unsure are files that may count as changed: their filter is not run to
	// compare them.
	unsure []string
	// then looks at what is special about the new workspace.
	then func(t *testing.T, w workspace.Workspace)
}

func cloned(args ...string) func(t *testing.T, dir string) string {
	return func(t *testing.T, dir string) string {
		runGit(t, "/", slices.Concat([]string{"clone", "-q"}, args, []string{"file://" + newRepo(t), dir})...)
		return dir
	}
}

var kinds = []kind{
	{name: "SHA-256", make: func(t *testing.T, dir string) string {
		runGit(t, "/", "init", "-q", "--object-format=sha256", dir)
		commit(t, dir, "a.txt", "one\n")
		return dir
	}, then: func(t *testing.T, w workspace.Workspace) {
		if len(w.BaseCommit) != 64 {
			t.Errorf("base commit %s", w.BaseCommit)
		}
	}},
	{name: "reftable", make: func(t *testing.T, dir string) string {
		if out, err := tryGit("/", "init", "-q", "--ref-format=reftable", dir); err != nil {
			t.Skipf("this git has no reftable (2.45 has): %.60s", out)
		}
		commit(t, dir, "a.txt", "one\n")
		return dir
	}},
	{name: "empty", make: func(t *testing.T, dir string) string {
		runGit(t, "/", "init", "-q", dir)
		return dir
	}, refused: workspace.ErrNoCommits, says: "make one first"},
	{name: "bare", make: cloned("--bare"), then: func(t *testing.T, w workspace.Workspace) {
		if w.Repository != w.GitDir || w.Base != "main" {
			t.Errorf("record %+v", w)
		}
	}},
	{name: "bare and empty", make: func(t *testing.T, dir string) string {
		runGit(t, "/", "init", "-q", "--bare", dir)
		return dir
	}, refused: workspace.ErrNoCommits, says: "make one first"},
	{name: "bare beside its worktrees", make: func(t *testing.T, dir string) string {
		cloned("--bare")(t, dir+"/.bare")
		write(t, dir+"/.git", "gitdir: ./.bare\n")
		return dir
	}},
	{name: "bare, in an untracked place of another", make: func(t *testing.T, dir string) string {
		cloned()(t, dir)
		return cloned("--bare")(t, dir+"/lib.git")
	}},
	{name: "bare, tracked by another", make: func(t *testing.T, dir string) string {
		cloned()(t, dir)
		cloned("--bare")(t, dir+"/lib.git")
		runGit(t, dir, "add", "-A")
		return dir + "/lib.git"
	}, refused: workspace.ErrNotRepository, says: "clone it to another directory"},
	{name: "git directory", make: func(t *testing.T, dir string) string { return cloned()(t, dir) + "/.git" },
		refused: workspace.ErrNotRepository, says: "change to the checkout"},
	{name: "worktree of a bare one", make: func(t *testing.T, dir string) string {
		cloned("--bare")(t, dir+".git")
		runGit(t, dir+".git", "worktree", "add", "-q", dir)
		return dir
	}},
	{name: "worktree of a worktree", make: func(t *testing.T, dir string) string {
		repo := newRepo(t)
		runGit(t, repo, "worktree", "add", "-q", "-b", "one", dir+"-one")
		runGit(t, dir+"-one", "worktree", "add", "-q", "-b", "two", dir)
		return dir
	}},
	{name: "shallow", make: cloned("--depth=1")},
	{name: "partial, without blobs", make: partial("blob:none"), then: stillPartial},
	{name: "partial, without trees", make: partial("tree:0"), then: stillPartial},
	{name: "sparse cone", make: func(t *testing.T, dir string) string {
		cloned("--sparse")(t, dir)
		return dir
	}},
	{name: "sparse patterns", make: func(t *testing.T, dir string) string {
		cloned()(t, dir)
		runGit(t, dir, "sparse-checkout", "set", "--no-cone", "/*", "!/sub/")
		return dir
	}},
	{name: "submodules", make: func(t *testing.T, dir string) string {
		cloned()(t, dir)
		runGit(t, dir, "submodule", "--quiet", "add", newRepo(t), "mod")
		runGit(t, dir, "commit", "-q", "-m", "Add a module")
		return dir
	}, then: func(t *testing.T, w workspace.Workspace) {
		runGit(t, w.Root, "submodule", "--quiet", "update", "--init")
		write(t, w.Root+"/mod/new", "1\n")
	}},
	{name: "submodule itself", make: func(t *testing.T, dir string) string {
		cloned()(t, dir)
		runGit(t, dir, "submodule", "--quiet", "add", newRepo(t), "mod")
		return filepath.Join(dir, "mod")
	}},
	{name: "LFS pointers without LFS", make: func(t *testing.T, dir string) string {
		cloned()(t, dir)
		commit(t, dir, ".gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n")
		commit(t, dir, "x.bin", lfsPointer)
		return dir
	}, then: func(t *testing.T, w workspace.Workspace) { holds(t, w.Root+"/x.bin", lfsPointer) }},
	{name: "a filter of the user's", make: func(t *testing.T, dir string) string {
		cloned()(t, dir)
		commit(t, dir, ".gitattributes", "*.loud filter=loud\n")
		commit(t, dir, "x.loud", "QUIET\n")
		return dir
	}, then: func(t *testing.T, w workspace.Workspace) { holds(t, w.Root+"/x.loud", "QUIET\n") }},
	{name: "a filter of the repository's", make: func(t *testing.T, dir string) string {
		cloned()(t, dir)
		for key, value := range map[string]string{"clean": "tr A-Z a-z", "smudge": "tr a-z A-Z", "required": "true"} {
			runGit(t, dir, "config", "filter.own."+key, value)
		}
		commit(t, dir, ".gitattributes", "*.own filter=own\n")
		commit(t, dir, "x.own", "QUIET\n")
		return dir
	}, unsure: []string{"x.own"}, then: func(t *testing.T, w workspace.Workspace) {
		holds(t, w.Root+"/x.own", "quiet\n") /* not run without consent */
	}},
	{name: "git directory elsewhere", make: func(t *testing.T, dir string) string {
		return cloned("--separate-git-dir="+dir+"-git")(t, dir)
	}},
	{name: "git directory behind a link", make: func(t *testing.T, dir string) string {
		cloned()(t, dir)
		if err := errors.Join(os.Rename(dir+"/.git", dir+"-git"), os.Symlink(dir+"-git", dir+"/.git")); err != nil {
			t.Fatal(err)
		}
		return dir
	}},
	{name: "worktree of one whose git directory is elsewhere", make: func(t *testing.T, dir string) string {
		cloned("--separate-git-dir="+dir+"-git")(t, dir+"-main")
		runGit(t, dir+"-main", "worktree", "add", "-q", dir)
		return dir
	}},
	{name: "CRLF checkout", make: cloned("-c", "core.autocrlf=true")},
	{name: "alternates", make: func(t *testing.T, dir string) string {
		runGit(t, "/", "clone", "-q", "--shared", newRepo(t), dir)
		return dir
	}},
	{name: "configuration by worktree", make: cloned("-c", "extensions.worktreeConfig=true"), then: func(t *testing.T, w workspace.Workspace) {
		runGit(t, w.Root, "config", "--worktree", "user.name", "Another")
	}},
	{name: "in the ignored directory of another", make: func(t *testing.T, dir string) string {
		cloned()(t, dir)
		commit(t, dir, ".gitignore", "vendor/\n")
		return cloned()(t, dir+"/vendor/lib")
	}},
	{name: "path with spaces, quotes and letters of all kinds", make: func(t *testing.T, dir string) string {
		return cloned()(t, dir+" ünï 日本 'q\"u\\o\te\xff")
	}},
	{name: "path with a line break", make: func(t *testing.T, dir string) string { return cloned()(t, dir+"\nx") },
		refused: workspace.ErrBadRequest, says: "rename the directory"},
	{name: "bare, with a line break", make: func(t *testing.T, dir string) string { return cloned("--bare")(t, dir+"\nx") },
		refused: workspace.ErrBadRequest, says: "rename the directory"},
	{name: "behind a link", make: func(t *testing.T, dir string) string {
		if err := os.Symlink(cloned()(t, dir+"-real"), dir); err != nil {
			t.Fatal(err)
		}
		return dir
	}},
	{name: "on another file system", make: func(t *testing.T, dir string) string {
		other, err := os.MkdirTemp("/dev/shm", "kinds-")
		if err != nil {
			t.Skipf("no other file system to write to: %v", err)
		}
		t.Cleanup(func() { os.RemoveAll(other) })
		return cloned()(t, other+"/repo")
	}},
	{name: "of another user", make: func(t *testing.T, dir string) string {
		testenv.NeedRoot(t, "give a directory away")
		give(t, cloned()(t, dir))
		return dir
	}, refused: workspace.ErrForeign, says: "git config --global --add safe.directory"},
	{name: "bare, of another user", make: func(t *testing.T, dir string) string {
		testenv.NeedRoot(t, "give a directory away")
		give(t, cloned("--bare")(t, dir))
		return dir
	}, refused: workspace.ErrForeign, says: "git config --global --add safe.directory"},
	{name: "many files", make: func(t *testing.T, dir string) string {
		cloned()(t, dir)
		many := 3000
		if os.Getenv("MIDDLEMAN_LONG") != "" {
			many = 60_000
		}
		for i := range many {
			if i%100 == 0 {
				write(t, fmt.Sprintf("%s/many/%d/first", dir, i/100), "")
			}
			if err := os.WriteFile(fmt.Sprintf("%s/many/%d/%d", dir, i/100, i), nil, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		runGit(t, dir, "add", "-A")
		runGit(t, dir, "commit", "-q", "-m", "Many")
		return dir
	}},
}

const lfsPointer = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n"

func partial(filter string) func(t *testing.T, dir string) string {
	return func(t *testing.T, dir string) string {
		from := newRepo(t)
		commit(t, from, "a.txt", "old\n")
		commit(t, from, "a.txt", "one\n")
		runGit(t, from, "config", "uploadpack.allowFilter", "true")
		runGit(t, "/", "clone", "-q", "--filter="+filter, "file://"+from, dir)
		return dir
	}
}

// stillPartial: nothing that a workspace does fetches what the clone lacks,
// but for what is checked out.
func stillPartial(t *testing.T, w workspace.Workspace) {
	if got := runGit(t, w.Repository, "rev-list", "--objects", "--all", "--missing=print", "--quiet"); !strings.Contains(got, "?") {
		t.Errorf("nothing is missing any more")
	}
}

func holds(t *testing.T, file, want string) {
	t.Helper()
	if content, err := os.ReadFile(file); err != nil || string(content) != want {
		t.Errorf("%s: %q, %v", file, content, err)
	}
}

// give makes a directory somebody else's.
func give(t *testing.T, dir string) {
	t.Helper()
	if err := os.Chown(dir, 1234, 1234); err != nil {
		t.Fatal(err)
	}
}

// Each kind of repository: a workspace is made, work in it keeps it from being
// deleted, what a delete takes a restore brings back as it was, and at last it
// goes without a trace. Or one line says why not, and what to do.
func TestKindsOfRepository(t *testing.T) {
	t.Parallel()
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			m, base := newManager(t)
			stand := k.make(t, filepath.Join(t.TempDir(), "repo"))
			if k.refused != nil {
				k.refuse(t, m, base, stand)
				return
			}
			w := create(t, m, request(stand, "w1"))
			k.live(t, m, base, w)
			runGit(t, w.GitDir, "--git-dir=.", "fsck", "--no-dangling")
		})
	}
}

// A merge into a branch that is checked out brings that checkout forward, wherever its
// git directory is, and writes into no git directory.
func TestMergeIntoKinds(t *testing.T) {
	t.Parallel()
	for _, k := range kinds {
		if k.refused != nil || k.unsure != nil { // filters are refused, see TestMergeRefuses
			continue
		}
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			m, _ := newManager(t)
			stand := k.make(t, filepath.Join(t.TempDir(), "repo"))
			w := create(t, m, request(stand, "w1"))
			for _, name := range []string{"merged", "packed-refs", "hooks/post-checkout"} {
				write(t, filepath.Join(w.Root, name), "merged\n")
				runGit(t, w.Root, "add", "-f", "--sparse", name)
			}
			runGit(t, w.Root, "commit", "-q", "-m", "More")
			got, err := m.Merge(t.Context(), w, workspace.MergeRequest{})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := os.Lstat(filepath.Join(w.GitDir, "merged")); err == nil {
				t.Errorf("%s has a file of the merge", w.GitDir)
			}
			if got.Checkout == "" {
				return
			}
			if text := runGit(t, got.Checkout, "status", "--porcelain"); text != "" || runGit(t, got.Checkout, "rev-parse", "HEAD") != got.After {
				t.Errorf("%s is not at %s, or differs:\n%s", got.Checkout, got.After, text)
			}
			if !exists(got.Checkout + "/merged") {
				t.Errorf("%s has no file of the merge", got.Checkout)
			}
		})
	}
}

// Where nobody knows which checkout has the branch, nothing is merged.
func TestMergeIntoNobodyKnows(t *testing.T) {
	m, _ := newManager(t)
	dir := filepath.Join(t.TempDir(), "repo")
	cloned("--separate-git-dir="+dir+"-git")(t, dir)
	w := create(t, m, request(dir, "w1"))
	commit(t, w.Root, "new.txt", "1\n")
	before := runGit(t, dir, "for-each-ref") + treeState(t, w.GitDir+"/hooks")
	if err := os.Rename(dir, dir+"-moved"); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Merge(t.Context(), w, workspace.MergeRequest{}); !errors.Is(err, workspace.ErrInUse) || !strings.Contains(err.Error(), "nobody knows where that is") {
		t.Errorf("%v", err)
	}
	if after := runGit(t, dir+"-moved", "for-each-ref") + treeState(t, w.GitDir+"/hooks"); after != before || exists(w.GitDir+"/new.txt") {
		t.Errorf("it was\n%s\nand is\n%s", before, after)
	}
	runGit(t, dir+"-moved", "config", "core.worktree", dir+"-moved")
	got, err := m.Merge(t.Context(), w, workspace.MergeRequest{})
	if err != nil || got.Checkout != dir+"-moved" || !exists(dir+"-moved/new.txt") {
		t.Errorf("%+v, %v", got, err)
	}
}

// Configuration and records of a repository may name any directory: what has no .git that
// leads back is no checkout of it, and gets no file.
func TestMergeIntoNoCheckout(t *testing.T) {
	elsewhere := func(t *testing.T, dir string) {
		cloned("--separate-git-dir="+dir+"-git")(t, dir)
	}
	for name, to := range map[string]func(t *testing.T, dir, victim string) (checkout string){
		"core.worktree leads to another repository's directory": func(t *testing.T, dir, victim string) string {
			elsewhere(t, dir)
			runGit(t, dir, "config", "core.worktree", victim+"/.git")
			return ""
		},
		"core.worktree leads to another checkout": func(t *testing.T, dir, victim string) string {
			cloned()(t, dir)
			runGit(t, dir, "config", "core.worktree", victim)
			return ""
		},
		"core.worktree leads to a directory": func(t *testing.T, dir, victim string) string {
			cloned()(t, dir)
			runGit(t, dir, "config", "core.worktree", filepath.Dir(victim))
			return ""
		},
		"core.worktree leads nowhere": func(t *testing.T, dir, victim string) string {
			cloned()(t, dir)
			runGit(t, dir, "config", "core.worktree", victim+"/none")
			return ""
		},
		"the git directory is called .git": func(t *testing.T, dir, victim string) string {
			cloned("--separate-git-dir="+filepath.Dir(victim)+"/.git")(t, dir)
			return dir
		},
		"the place of a worktree has another repository": func(t *testing.T, dir, victim string) string {
			cloned()(t, dir)
			runGit(t, dir, "switch", "-qc", "dev")
			runGit(t, dir, "worktree", "add", "-q", dir+"-wt", "main")
			if err := errors.Join(os.RemoveAll(dir+"-wt"), os.Symlink(victim, dir+"-wt")); err != nil {
				t.Fatal(err)
			}
			return ""
		},
		"the record of a worktree leads to another repository": func(t *testing.T, dir, victim string) string {
			cloned()(t, dir)
			runGit(t, dir, "switch", "-qc", "dev")
			runGit(t, dir, "worktree", "add", "-q", dir+"-wt", "main")
			write(t, dir+"/.git/worktrees/repo-wt/gitdir", victim+"/.git\n")
			return ""
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, _ := newManager(t)
			dir, victim := filepath.Join(t.TempDir(), "repo"), newRepo(t)
			w := create(t, m, request(newRepo(t), "w1"))
			want := to(t, dir, victim)
			linked := filepath.Join(t.TempDir(), "stand")
			runGit(t, "/", "--git-dir="+gitDirOf(t, dir), "worktree", "add", "-q", "-b", "standing", linked, "main")
			w = create(t, m, request(linked, "w2"))
			if want != "" {
				w = create(t, m, request(dir, "w3"))
			}
			commit(t, w.Root, "new.txt", "1\n")
			before := treeState(t, victim)
			got, err := m.Merge(t.Context(), w, workspace.MergeRequest{Into: "main"})
			switch {
			case want != "" && (err != nil || got.Checkout != want || !exists(want+"/new.txt")):
				t.Errorf("%+v, %v", got, err)
			case want == "" && !errors.Is(err, workspace.ErrInUse):
				t.Errorf("merged: %+v, %v", got, err)
			}
			if after := treeState(t, victim); after != before || exists(filepath.Dir(victim)+"/new.txt") {
				t.Errorf("it was\n%s\nand is\n%s", before, after)
			}
		})
	}
}

// gitDirOf returns the repository's directory of a checkout, whatever core.worktree says.
func gitDirOf(t *testing.T, dir string) string {
	t.Helper()
	if named, err := os.ReadFile(dir + "/.git"); err == nil {
		return strings.TrimSpace(strings.TrimPrefix(string(named), "gitdir: "))
	}
	return dir + "/.git"
}

func (k kind) refuse(t *testing.T, m *workspace.Manager, base, stand string) {
	_, err := m.Create(context.Background(), request(stand, "w1"), nil)
	if !errors.Is(err, k.refused) || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), k.says) {
		t.Errorf("error is not one line that says %q: %v", k.says, err)
	}
	if entries, _ := os.ReadDir(base); len(entries) != 0 {
		t.Errorf("left behind: %v", entries)
	}
}

// live is the life of a workspace, from its first look on.
func (k kind) live(t *testing.T, m *workspace.Manager, base string, w workspace.Workspace) {
	ctx := context.Background()
	if loss, err := m.Inspect(ctx, w); err != nil || !k.clean(loss) {
		t.Fatalf("new: %+v, %v", loss, err)
	}
	if k.then != nil {
		k.then(t, w)
	}
	write(t, w.Root+"/a.txt", "changed\n")
	write(t, w.Root+"/staged", "staged\n")
	runGit(t, w.Root, "add", "staged")
	write(t, w.Root+"/new", "new\n")
	commit(t, w.Root, "committed", "1\n")
	d := &dirtier{T: t, w: w, root: w.Root}
	runGit(t, w.Root, "status")
	before := d.look()
	_, err := m.Delete(ctx, w, false, nil)
	refused, ok := errors.AsType[*workspace.WorkError](err)
	if !ok || !slices.Contains(refused.Loss.Changed, "a.txt") || !slices.Contains(refused.Loss.Untracked, "new") || len(refused.Loss.Commits) != 1 {
		t.Fatalf("dirty: %v", err)
	}
	if loss, err := m.Delete(ctx, w, true, nil); err != nil || !loss.Restorable || len(loss.Unkept) != 0 {
		t.Fatalf("delete: %+v, %v", loss, err)
	}
	if entries, _ := os.ReadDir(base); len(entries) != 0 || strings.Contains(runGit(t, w.Repository, "branch"), "middleman") {
		t.Errorf("left behind: %v", entries)
	}
	if _, notes, err := m.Restore(ctx, w, nil); err != nil || len(notes) != 0 {
		t.Fatalf("restore: %q, %v", notes, err)
	}
	if after := d.look(); after != before {
		t.Errorf("not as it was: %s", firstDifference(before, after))
	}
	runGit(t, w.Root, "reset", "-q", "--hard", w.BaseCommit)
	runGit(t, w.Root, "clean", "-q", "-f", "-f", "-d", "-x")
	if exists(w.Root + "/mod/.git") {
		runGit(t, w.Root, "submodule", "foreach", "-q", "git clean -q -f -d -x")
	}
	if loss, err := m.Inspect(ctx, w); err != nil || !k.clean(loss) {
		t.Errorf("clean: %+v, %v", loss, err)
	}
	if _, err := m.Delete(ctx, w, k.unsure != nil, nil); err != nil {
		t.Error(err)
	}
}

// clean reports whether nothing would be lost, for all that can be told.
func (k kind) clean(loss workspace.Loss) bool {
	return loss.Empty() || k.unsure != nil && slices.Equal(loss.Changed, k.unsure) && len(loss.Untracked) == 0
}
