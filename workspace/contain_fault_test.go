//go:build faults && unix

package workspace_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"middleman/internal/contain"
	"middleman/internal/fault"
	"middleman/internal/git"
)

// A fault of ours in the goroutine that looks for what git waits for is the
// error of that look.
func TestFaultPanicBesideGit(t *testing.T) {
	plan := fault.NewPlan(t.TempDir())
	t.Setenv(plan.Variable())
	if err := plan.Set("look/held-up", fault.Panic, 0, 0); err != nil {
		t.Fatal(err)
	}
	m, _ := newManager(t)
	w := create(t, m, request(newRepo(t), "w1"))
	pipe(t, w.Root+"/.gitignore")
	_, err := m.Inspect(context.Background(), w)
	if e, ok := errors.AsType[*contain.PanicError](err); !ok || !strings.Contains(string(e.Stack), "findHeldUp") {
		t.Errorf("%v", err)
	}
	if err := plan.Heal("look/held-up"); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Inspect(context.Background(), w); !errors.Is(err, git.ErrHeldUp) {
		t.Errorf("the next: %v", err)
	}
}
