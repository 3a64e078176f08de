package workspace_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"middleman/terminal"
	"middleman/workspace"
	"middleman/workspace/basedir"
)

// repoNamed is a repository in a directory of that name.
func repoNamed(t testing.TB, name string) string {
	t.Helper()
	repo := newRepo(t)
	if name == filepath.Base(repo) {
		return repo
	}
	named := filepath.Join(filepath.Dir(repo), name)
	rename(t, repo, named)
	return named
}

// A worktree is at REPOSITORY/NAME, whatever the directory of the repository is
// called, and the last one takes the directory of its repository with it.
func TestReadablePlaces(t *testing.T) {
	t.Parallel()
	for name, group := range map[string]string{
		"api": "api", "API": "api", "My App": "my-app", "api.git": "api", ".hidden": "hidden", "-rf": "rf", "..x": "x",
		"größe": "groesse", "bad\xffbytes": "bad-bytes", "日本": "repository", "w0123456789abcdef": "w0123456789abcdef",
		strings.Repeat("a", 255): strings.Repeat("a", 64), "x.lock": "x-lock", "v1.late-2": "v1-late-2",
	} {
		t.Run(fmt.Sprintf("%.20q", name), func(t *testing.T) {
			t.Parallel()
			m, base := newManager(t)
			w := create(t, m, request(repoNamed(t, name), "w1"))
			if w.Root != filepath.Join(base, group, "fix") {
				t.Errorf("root %q", w.Root)
			}
			if entry := namesIn(w.GitDir + "/worktrees"); entry != "w1" {
				t.Errorf("git's entry is %s", entry)
			}
			if got := namesIn(filepath.Dir(w.Root)); got != "fix" {
				t.Errorf("in the group: %s", got)
			}
			if got := runGit(t, w.Root, "status", "--porcelain"); got != "" {
				t.Errorf("status %s", got)
			}
			if _, err := m.Delete(t.Context(), w, false, nil); err != nil {
				t.Error(err)
			}
			if left := namesIn(base); left != "" {
				t.Errorf("left: %s", left)
			}
		})
	}
}

// Two repositories of one name have a directory each, and so have names that
// differ only in case; each keeps its own.
func TestGroupsOfOneName(t *testing.T) {
	t.Parallel()
	m, base := newManager(t)
	one, two, three := repoNamed(t, "api"), repoNamed(t, "API"), repoNamed(t, "api")
	for i, x := range []struct{ repo, name, want string }{
		{one, "fix", "api/fix"}, {two, "fix", "api-2/fix"}, {three, "fix", "api-3/fix"},
		{one, "more", "api/more"}, {two, "more", "api-2/more"}, {three, "more", "api-3/more"},
	} {
		r := request(x.repo, fmt.Sprintf("w%d", i))
		r.Name = x.name
		if w := create(t, m, r); w.Root != filepath.Join(base, x.want) {
			t.Errorf("%s of %s at %s", x.name, x.repo, w.Root)
		}
	}
}

// What a delete or a restore has in hand of the repository's own workspaces does not
// take the directory of the repository from it; that of others does.
func TestGroupOfWhatIsInHand(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		recorded []string
		want     string
	}{
		{basedir.RestoringName("w1"), []string{"w0", "w1"}, "repo/fix"},
		{basedir.DeletingName("w1"), []string{"w1"}, "repo/fix"},
		{basedir.TrashName("w1"), []string{"w1"}, "repo/fix"},
		{basedir.KeptName("w1"), []string{"w1"}, "repo/fix"},
		{"w1" + basedir.LateMark + "1", []string{"w1"}, "repo/fix"},
		{basedir.RestoringName("w1"), []string{"w0"}, "repo-2/fix"},
		{"w1", []string{"w1"}, "repo-2/fix"},
		{"mine", []string{"w1"}, "repo-2/fix"},
	} {
		m, base := newManager(t)
		write(t, filepath.Join(base, "repo", tt.name, "file"), "work")
		if err := os.Chmod(filepath.Join(base, "repo"), 0o700); err != nil {
			t.Fatal(err)
		}
		r := request(newRepo(t), "w2")
		r.Recorded = tt.recorded
		if got := strings.TrimPrefix(create(t, m, r).Root, base+"/"); got != tt.want {
			t.Errorf("beside %s of %q at %s, want %s", tt.name, tt.recorded, got, tt.want)
		}
	}
}

// A name that is taken gets a number: by a directory, by an entry of the
// repository, or by a record.
func TestPlaceNumbers(t *testing.T) {
	t.Parallel()
	m, base := newManager(t)
	repo := newRepo(t)
	root := func(id string, taken ...string) string {
		r := request(repo, id)
		r.Taken = taken
		return strings.TrimPrefix(create(t, m, r).Root, base+"/")
	}
	got := []string{root("w1")}
	remove(t, filepath.Join(base, "repo/fix")) // git has its entry still
	write(t, filepath.Join(base, "repo/fix-2"), "a file")
	write(t, filepath.Join(base, "repo/fix-3/mine"), "a directory")
	got = append(got, root("w2", filepath.Join(base, "repo/fix-4")), root("w3"))
	if want := []string{"repo/fix", "repo/fix-5", "repo/fix-4"}; !slices.Equal(got, want) {
		t.Errorf("at %q, want %q", got, want)
	}
}

// A deleted workspace leaves its place to the next. Restored, it gets a number,
// and neither harms the other.
func TestPlaceIsUsedAgain(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	m, base := newManager(t)
	repo := newRepo(t)
	old := create(t, m, request(repo, "w1"))
	write(t, old.Root+"/old", "old work")
	discard(t, m, old)
	now := create(t, m, request(repo, "w2"))
	write(t, now.Root+"/new", "new work")
	if now.Root != old.Root {
		t.Fatalf("the second is at %s", now.Root)
	}
	// As a server that was killed at the end of the delete does.
	if _, err := m.Delete(ctx, old, true, nil); err != nil {
		t.Errorf("deleted again: %v", err)
	}
	if back, err := m.PutBack(old); back || err != nil {
		t.Errorf("put back: %v, %v", back, err)
	}
	if where, err := m.Where(old); err != nil || !where.Missing {
		t.Errorf("where: %+v, %v", where, err)
	}
	if err := m.Undo(ctx, old, true); err == nil || !strings.Contains(err.Error(), old.Root) {
		t.Errorf("undone: %v", err)
	}
	back, notes, err := m.Restore(ctx, old, nil)
	if err != nil || back.Root != filepath.Join(base, "repo/fix-2") || len(notes) == 0 || !strings.Contains(notes[len(notes)-1]+notes[0], back.Root) {
		t.Fatalf("restored: %+v, %q, %v", back, notes, err)
	}
	for _, x := range []struct {
		w    workspace.Workspace
		file string
	}{{now, "new"}, {back, "old"}} {
		if loss, err := m.Inspect(ctx, x.w); err != nil || !slices.Equal(loss.Untracked, []string{x.file}) {
			t.Errorf("%s: %+v, %v", x.w.Root, loss, err)
		}
		discard(t, m, x.w)
	}
	if left := namesIn(base); left != "" {
		t.Errorf("left: %s", left)
	}
}

// Workspaces of earlier versions, at their ids, live beside the others.
func TestEarlierPlaces(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	m, base := newManager(t)
	repo := newRepo(t)
	old := earlier(t, create(t, m, request(repo, "w1")))
	now := create(t, m, request(repo, "w2"))
	if old.Root != base+"/w1" || now.Root != base+"/repo/fix" {
		t.Fatalf("at %s and %s", old.Root, now.Root)
	}
	for _, w := range []workspace.Workspace{old, now} {
		write(t, w.Root+"/mine", w.ID)
		if where, err := m.Where(w); err != nil || !where.Sound() {
			t.Errorf("%s: %+v, %v", w.ID, where, err)
		}
		discard(t, m, w)
		back, notes, err := m.Restore(ctx, w, nil)
		if err != nil || back.Root != w.Root || len(notes) != 0 {
			t.Errorf("%s: %+v, %q, %v", w.ID, back, notes, err)
		}
		if text, err := os.ReadFile(w.Root + "/mine"); err != nil || string(text) != w.ID {
			t.Errorf("%s: %s, %v", w.ID, text, err)
		}
	}
}

// What is planted where the directory of a repository belongs is refused, and
// nothing is made.
func TestGroupRefused(t *testing.T) {
	t.Parallel()
	for name, plant := range map[string]func(t *testing.T, group, elsewhere string) error{
		"a link":              func(_ *testing.T, group, elsewhere string) error { return os.Symlink(elsewhere, group) },
		"a link that dangles": func(_ *testing.T, group, elsewhere string) error { return os.Symlink(elsewhere+"/none", group) },
		"a file":              func(_ *testing.T, group, _ string) error { return os.WriteFile(group, nil, 0o600) },
		"others can write": func(_ *testing.T, group, _ string) error {
			return errors.Join(os.Mkdir(group, 0o700), os.Chmod(group, 0o777))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, base := newManager(t)
			repo, elsewhere := newRepo(t), t.TempDir()
			if err := errors.Join(os.MkdirAll(base, 0o700), plant(t, base+"/repo", elsewhere)); err != nil {
				t.Fatal(err)
			}
			before := state(t, repo, elsewhere)
			_, err := m.Create(t.Context(), request(repo, "w1"), nil)
			if !errors.Is(err, workspace.ErrUnsafeBase) || !strings.Contains(err.Error(), base+"/repo") {
				t.Errorf("error %v", err)
			}
			if after := state(t, repo, elsewhere); after != before {
				t.Errorf("changed: %s", firstDifference(before, after))
			}
		})
	}
}

// Whoever makes workspaces at the same time gets a directory of its own, and the
// workspaces of a repository are in one directory.
func TestPlacesAtOnce(t *testing.T) {
	t.Parallel()
	m, base := newManager(t)
	repos := []string{repoNamed(t, "api"), repoNamed(t, "api")}
	var all sync.WaitGroup
	made := make([]workspace.Workspace, 12)
	for i := range made {
		all.Go(func() {
			var err error
			if made[i], err = m.Create(t.Context(), request(repos[i%2], fmt.Sprintf("w%d", i)), nil); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	groups, roots := map[string]string{}, map[string]bool{}
	for _, w := range made {
		group := filepath.Dir(w.Root)
		if of := groups[group]; of != "" && of != w.Repository || roots[w.Root] {
			t.Errorf("%s of %s", w.Root, w.Repository)
		}
		groups[group], roots[w.Root] = w.Repository, true
	}
	if left := namesIn(base); len(groups) != 2 || left != "api api-2" {
		t.Errorf("groups %v, in the base: %s", groups, left)
	}
}

// A delete that removes the directory of a repository with the last workspace takes
// it from no workspace that is made at that time.
func TestGroupComesAndGoes(t *testing.T) {
	t.Parallel()
	m, base := newManager(t)
	repo := newRepo(t)
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			for range 8 {
				r := request(repo, terminal.NewID("w"))
				r.Name = fmt.Sprintf("n%d", i)
				w, err := m.Create(t.Context(), r, nil)
				if err == nil {
					_, err = m.Delete(t.Context(), w, false, nil)
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if left := namesIn(base); left != "" {
		t.Errorf("left: %s", left)
	}
}

// What a killed creation leaves is a leftover once it is old, and nothing else in a
// group goes with it.
func TestLeftoversOfABegunPlace(t *testing.T) {
	t.Parallel()
	m, base := newManager(t)
	live := create(t, m, request(newRepo(t), "w0"))
	recorded := recordedAs(records(live))
	group := filepath.Dir(live.Root)
	if err := errors.Join(os.Symlink("begun", group+"/w1"), os.Mkdir(group+"/begun", 0o700), os.Mkdir(base+"/gone", 0o700)); err != nil {
		t.Fatal(err)
	}
	write(t, group+"/notes/mine", "x")
	find := func() []string {
		found, err := m.Leftovers(t.Context(), recorded)
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range found {
			if _, _, err := m.Prune(t.Context(), l, recorded); l.Prunable != (err == nil) {
				t.Errorf("prune %s: %v", l.What, err)
			}
		}
		return described(found, base, "$B")
	}
	if got := find(); !slices.Equal(got, []string{"directory $B/repo/notes false"}) {
		t.Errorf("at once: %q", got)
	}
	if out, err := tryShell(base, "touch -h -d 2020-01-01 repo/w1 repo/begun gone"); err != nil {
		t.Fatal(out)
	}
	want := []string{"directory $B/repo/notes false", "trash $B/gone true", "trash $B/repo/begun true", "trash $B/repo/w1 true"}
	if got := find(); !slices.Equal(got, want) {
		t.Errorf("later: %q", got)
	}
	if left := namesIn(base) + ": " + namesIn(group); left != "repo: fix notes" {
		t.Errorf("left: %s", left)
	}
}
