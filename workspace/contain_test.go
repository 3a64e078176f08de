package workspace_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"middleman/internal/contain"
	"middleman/workspace"
)

// faulty panics where a stage of that name begins or ends.
func faulty(name, state string) workspace.Progress {
	return func(s workspace.Stage) {
		if s.Name == name && s.State == state {
			panic("at " + name)
		}
	}
}

// A fault of ours in a restore is the error of that restore: nothing is left of
// it, and the next one brings everything back.
func TestAPanicInARestoreIsContained(t *testing.T) {
	t.Parallel()
	for _, stage := range []string{"read", "files", "branch", "entry", "place"} {
		t.Run(stage, func(t *testing.T) {
			t.Parallel()
			m, base := newManager(t)
			w := loseWork(t, m, newRepo(t))
			before, refs := entriesOf(t, base), runGit(t, w.Repository, "for-each-ref")
			_, _, err := m.Restore(context.Background(), w, faulty(stage, "running"))
			checkPanic(t, err, w.Name)
			if after := entriesOf(t, base); after != before {
				t.Errorf("in the base: %s, were %s", after, before)
			}
			if now := runGit(t, w.Repository, "for-each-ref"); now != refs {
				t.Errorf("refs:\n%s\nwere\n%s", now, refs)
			}
			if _, _, err := m.Restore(context.Background(), w, nil); err != nil || !exists(w.Root+"/precious") {
				t.Errorf("once more: %v", err)
			}
		})
	}
}

func TestAPanicInADeleteIsContained(t *testing.T) {
	t.Parallel()
	m, _ := newManager(t)
	w := create(t, m, request(newRepo(t), "w1"))
	write(t, w.Root+"/precious", "work")
	_, err := m.Delete(context.Background(), w, true, faulty("keep", "running"))
	checkPanic(t, err, w.Name)
	if !exists(w.Root + "/precious") {
		t.Error("it is not back in its place")
	}
	if _, err := m.Delete(context.Background(), w, true, nil); err != nil {
		t.Error(err)
	}
}

func TestAPanicInACreationIsContained(t *testing.T) {
	t.Parallel()
	m, _ := newManager(t)
	repo := newRepo(t)
	_, err := m.Create(context.Background(), request(repo, "w1"), faulty("checkout", "running"))
	checkPanic(t, err, "fix")
	create(t, m, request(repo, "w1"))
}

func checkPanic(t *testing.T, err error, name string) {
	t.Helper()
	if p, ok := errors.AsType[*contain.PanicError](err); !ok || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), name) ||
		!strings.Contains(p.At, "contain_test.go:") {
		t.Errorf("error %v", err)
	}
}

func entriesOf(t *testing.T, dir string) string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, entry := range entries {
		all = append(all, entry.Name())
	}
	return strings.Join(all, " ")
}
