package workspace_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"middleman/workspace"
)

func TestForecast(t *testing.T) {
	t.Parallel()
	repo := newRepo(t)
	commit(t, repo, "c.txt", "1\n")
	m, _ := newManager(t)
	make := func(id string, do func(root string)) workspace.Workspace {
		r := request(repo, id)
		r.Name = id
		w := create(t, m, r)
		do(w.Root)
		return w
	}
	mine := make("mine", func(root string) {
		commit(t, root, "a.txt", "mine\n")
		commit(t, root, "odd\nname", "mine\n")
		write(t, root+"/c.txt", "dirty\n")
		write(t, root+"/new", "dirty\n")
	})
	others := []workspace.Workspace{
		make("same", func(string) {}),
		make("conflict", func(root string) {
			commit(t, root, "a.txt", "theirs\n")
			commit(t, root, "odd\nname", "theirs\n")
		}),
		make("dirty", func(root string) {
			write(t, root+"/c.txt", "other\n")
			write(t, root+"/a.txt", "not committed\n")
			write(t, root+"/new", "other\n")
		}),
		make("committed", func(root string) { commit(t, root, "c.txt", "committed\n") }),
		make("gone", func(root string) { os.RemoveAll(root) }),
	}
	before := objects(t, repo) + state(t, repo, mine.Root)
	list, err := m.Forecast(context.Background(), mine, others)
	if err != nil {
		t.Fatal(err)
	}
	if objects(t, repo)+state(t, repo, mine.Root) != before {
		t.Error("something was written into the repository")
	}
	for i, want := range []workspace.Forecast{
		{Merge: "clean"},
		{Merge: "conflict", Conflicts: []string{"a.txt", `"odd\nname"`}},
		{Merge: "possible", BothChange: []string{"a.txt", "c.txt", "new"}},
		{Merge: "possible", BothChange: []string{"c.txt"}},
		{Merge: "unknown", Unknown: []string{"the directory is gone"}},
	} {
		got := list[i]
		if got.Workspace != others[i].Name || got.Merge != want.Merge || !slices.Equal(got.Conflicts, want.Conflicts) ||
			!slices.Equal(got.BothChange, want.BothChange) || len(got.Unknown) != len(want.Unknown) ||
			len(want.Unknown) > 0 && !strings.Contains(got.Unknown[0], want.Unknown[0]) {
			t.Errorf("%s: %+v", others[i].Name, got)
		}
	}
	if _, err := m.Forecast(context.Background(), others[4], nil); !errors.Is(err, workspace.ErrMissing) {
		t.Errorf("gone: %v", err)
	}
	elsewhere := create(t, m, request(newRepo(t), "w2"))
	if _, err := m.Forecast(context.Background(), mine, []workspace.Workspace{elsewhere}); !errors.Is(err, workspace.ErrBadRequest) {
		t.Errorf("another repository: %v", err)
	}
}

// objects lists the object files of a repository.
func objects(t *testing.T, repo string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(repo+"/.git/objects", func(path string, _ os.DirEntry, err error) error {
		b.WriteString(path + "\n")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// A git without "merge-tree --write-tree" is told, and what both change too.
func TestForecastOfOldGit(t *testing.T) {
	repo := newRepo(t)
	m, _ := newManager(t)
	one := create(t, m, request(repo, "w1"))
	two := create(t, m, request(repo, "w2"))
	write(t, one.Root+"/a.txt", "1\n")
	write(t, two.Root+"/a.txt", "2\n")
	real, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write(t, dir+"/git", "#!/bin/sh\ncase \" $* \" in *' merge-tree '*) echo 'usage: git merge-tree' >&2; exit 129;; esac\nexec "+real+" \"$@\"\n")
	if err := os.Chmod(dir+"/git", 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	list, err := m.Forecast(context.Background(), one, []workspace.Workspace{two})
	if err != nil || list[0].Merge != "unknown" || !strings.Contains(list[0].Unknown[0], "2.38") || !slices.Equal(list[0].BothChange, []string{"a.txt"}) {
		t.Errorf("%+v, %v", list, err)
	}
}
