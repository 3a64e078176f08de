package workspace_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"middleman/terminal"
	"middleman/workspace"
)

// newGiven is a manager and a directory for worktrees that a user may name. The
// directory does not exist.
func newGiven(t testing.TB) (m *workspace.Manager, base, given string) {
	t.Helper()
	m, base = newManager(t)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return m, base, filepath.Join(dir, "trees")
}

// requestIn asks for a worktree in a directory.
func requestIn(repo, id, given string) workspace.CreateRequest {
	r := request(repo, id)
	r.Location = workspace.Location(given)
	return r
}

// A worktree in a directory that the user named lives as any other. Its record says
// where that is, so that no manager needs to know.
func TestGivenBase(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	m, base, given := newGiven(t)
	repo := newRepo(t)
	w := create(t, m, requestIn(repo, "w1", given))
	if w.Root != given+"/repo/fix" || w.BaseDir != given || namesIn(repo+"/.git/worktrees") != "w1" {
		t.Fatalf("record is %+v", w)
	}
	if info, err := os.Stat(given); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("made with %v, %v", info, err)
	}
	own := create(t, m, request(repo, "w2"))
	if own.Root != base+"/repo/fix" || own.BaseDir != "" {
		t.Errorf("beside it: %+v", own)
	}
	write(t, w.Root+"/mine", "work")
	if where, err := m.Where(w); err != nil || !where.Sound() {
		t.Errorf("where: %+v, %v", where, err)
	}
	if loss, err := m.Inspect(ctx, w); err != nil || !slices.Equal(loss.Untracked, []string{"mine"}) {
		t.Errorf("loss %+v, %v", loss, err)
	}
	if _, err := m.Delete(ctx, w, false, nil); err == nil {
		t.Error("deleted with work")
	}
	discard(t, m, w)
	if left := namesIn(given); left != "" {
		t.Errorf("left: %s", left)
	}
	back, notes, err := m.Restore(ctx, w, nil)
	if err != nil || back.Root != w.Root || back.BaseDir != given || len(notes) != 0 {
		t.Fatalf("restored: %+v, %q, %v", back, notes, err)
	}
	if text, err := os.ReadFile(w.Root + "/mine"); err != nil || string(text) != "work" {
		t.Errorf("%s, %v", text, err)
	}
	discard(t, m, back)
	discard(t, m, own)
}

// The directory of a record leads nowhere but to a place in it.
func TestGivenBaseEscapes(t *testing.T) {
	t.Parallel()
	m, base, given := newGiven(t)
	repo := newRepo(t)
	w := create(t, m, requestIn(repo, "w1", given))
	for _, x := range []struct{ root, dir string }{
		{repo, given}, {repo, filepath.Dir(repo)}, {w.Root, base}, {w.Root, ""}, {w.Root, filepath.Dir(given)}, {given + "/repo", given},
		{given + "/repo/.git", given}, {w.Root, "relative"},
	} {
		bad := w
		bad.Root, bad.BaseDir = x.root, x.dir
		if _, err := m.Delete(t.Context(), bad, true, nil); err == nil {
			t.Errorf("deleted %+v", x)
		}
	}
	if namesIn(w.Root) == "" {
		t.Error("it is gone")
	}
}

// A directory that the user names is left as it is, and refused if worktrees in it
// would be seen, or be in danger.
func TestGivenBaseRefused(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		dir  func(t *testing.T, repo, base, given string) string
		want string // "" is fine
	}{
		{"there already", func(t *testing.T, _, _, given string) string {
			if err := errors.Join(os.Mkdir(given, 0o755), os.Chmod(given, 0o755)); err != nil {
				t.Fatal(err)
			}
			return given
		}, ""},
		{"through a link", func(t *testing.T, _, _, given string) string {
			if err := errors.Join(os.Mkdir(given, 0o700), os.Symlink(given, given+".link")); err != nil {
				t.Fatal(err)
			}
			return given + ".link"
		}, ""},
		{"others can write", func(t *testing.T, _, _, given string) string {
			if err := errors.Join(os.Mkdir(given, 0o700), os.Chmod(given, 0o777)); err != nil {
				t.Fatal(err)
			}
			return given
		}, "writable by others"},
		{"a file", func(t *testing.T, _, _, given string) string {
			write(t, given, "x")
			return given
		}, "not a directory"},
		{"in the checkout", func(_ *testing.T, repo, _, _ string) string { return repo + "/trees" }, "which would show them"},
		{"the checkout", func(_ *testing.T, repo, _, _ string) string { return repo }, "which would show them"},
		{"in the checkout, ignored", func(t *testing.T, repo, _, _ string) string {
			write(t, repo+"/.git/info/exclude", "/trees/\n")
			return repo + "/trees"
		}, ""},
		{"in another checkout", func(t *testing.T, _, _, _ string) string { return newRepo(t) + "/a/b" }, "which would show them"},
		{"in the repository", func(_ *testing.T, repo, _, _ string) string { return repo + "/.git/trees" }, "in the repository"},
		{"in our own", func(_ *testing.T, _, base, _ string) string { return base + "/trees" }, "without it"},
		{"not a path", func(*testing.T, string, string, string) string { return "trees" }, "absolute path"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			m, base, given := newGiven(t)
			repo := newRepo(t)
			dir := tc.dir(t, repo, base, given)
			before, info := state(t, repo, base), permOf(dir)
			w, err := m.Create(t.Context(), requestIn(repo, "w1", dir), nil)
			if tc.want == "" {
				if err != nil || !strings.HasSuffix(w.Root, "/repo/fix") || info != 0 && permOf(dir) != info {
					t.Fatalf("%+v, %v, mode %v", w, err, permOf(dir))
				}
				discard(t, m, w)
				return
			}
			if err == nil || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("error %v", err)
			}
			if after := state(t, repo, base); after != before || permOf(dir) != info {
				t.Errorf("changed: %s", firstDifference(before, after))
			}
		})
	}
}

// permOf is the mode of what is at path, 0 if nothing is.
func permOf(path string) os.FileMode {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Mode()
}

// In a directory that the user named, what is the user's is no leftover, and what is
// ours is named and stays: it may belong to another data directory.
func TestLeftoversInAGivenBase(t *testing.T) {
	t.Parallel()
	m, _, given := newGiven(t)
	repo := newRepo(t)
	live := create(t, m, requestIn(repo, terminal.NewID("w"), given))
	r := requestIn(repo, terminal.NewID("w"), given)
	r.Name = "lost"
	lost := create(t, m, r)
	r.ID, r.Name = terminal.NewID("w"), "half"
	half := create(t, m, r)
	rename(t, half.Root, filepath.Dir(half.Root)+"/.deleting-"+half.ID)
	write(t, given+"/notes/x", "x")
	write(t, given+"/repo/notes/x", "x")
	if err := os.Mkdir(given+"/empty", 0o700); err != nil {
		t.Fatal(err)
	}
	runGit(t, repo, "worktree", "add", "-q", "--detach", given+"/mine/tree")
	found, err := m.Leftovers(t.Context(), recordedAs(records(live)))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"deleting $G/repo/.deleting-" + half.ID + " false", "directory $G/repo/lost false"}
	if got := described(found, given, "$G"); !slices.Equal(got, want) {
		t.Errorf("found %q, want %q", got, want)
	}
	for _, l := range found {
		if _, _, err := m.Prune(t.Context(), l, recordedAs(records(live))); err == nil {
			t.Errorf("pruned %s", l.What)
		}
	}
	// A manager whose setting names it imports it again.
	named := workspace.New(workspace.Options{Base: filepath.Join(t.TempDir(), "base"), Location: workspace.Location(given)})
	for _, x := range []struct {
		path string
		w    workspace.Workspace
	}{{lost.Root, lost}, {filepath.Dir(half.Root) + "/.deleting-" + half.ID, half}} {
		w, err := named.Importable(t.Context(), x.path)
		if err != nil || w.ID != x.w.ID || w.Root != x.w.Root || w.BaseDir != given || w.Mode != workspace.ModeWorktree {
			t.Errorf("%+v, %v", w, err)
		}
		if err := named.Adopt(w); err != nil || namesIn(w.Root) == "" {
			t.Errorf("adopted: %v", err)
		}
	}
	if w, err := named.Importable(t.Context(), given+"/mine/tree"); err != nil || w.Mode != workspace.ModeInPlace {
		t.Errorf("the user's: %+v, %v", w, err)
	}
	all, err := named.Unrecorded(t.Context(), recordedAs(records(live)))
	if err != nil || len(all) != 2 {
		t.Errorf("unrecorded: %+v, %v", all, err)
	}
}

// A creation there that is killed is undone: the row has the directory from the
// beginning.
func TestUndoInAGivenBase(t *testing.T) {
	t.Parallel()
	m, base, given := newGiven(t)
	repo := newRepo(t)
	before := state(t, repo, base)
	r := requestIn(repo, "w1", given)
	located, _, _, err := m.Locate(t.Context(), r)
	if err != nil || string(located.Location) != given {
		t.Fatalf("%+v, %v", located, err)
	}
	row := recorded(r)
	row.BaseDir = given
	if err := m.Undo(t.Context(), row, false); err != nil {
		t.Errorf("before anything is made: %v", err)
	}
	create(t, m, r)
	if err := m.Undo(t.Context(), row, false); err != nil {
		t.Error(err)
	}
	if after := state(t, repo, base); after != before || namesIn(given) != "" {
		t.Errorf("left %q: %s", namesIn(given), firstDifference(before, after))
	}
}
