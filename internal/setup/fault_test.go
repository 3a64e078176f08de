//go:build faults && linux

package setup

import (
	"errors"
	"strings"
	"testing"

	"middleman/internal/contain"
	"middleman/internal/fault"
)

// A fault of ours while a command's output is read is the error of that setup,
// and the command does not wait for a reader.
func TestFaultPanicOfTheReader(t *testing.T) {
	plan := fault.NewPlan(t.TempDir())
	t.Setenv(plan.Variable())
	if err := plan.Set("setup/read", fault.Panic, 0, 1); err != nil {
		t.Fatal(err)
	}
	s := spec(t, "while echo more than a pipe holds; do :; done")
	_, err := Run(t.Context(), s)
	if e, ok := errors.AsType[*contain.PanicError](err); !ok || !strings.Contains(string(e.Stack), "setup.Spec.run") {
		t.Errorf("%v", err)
	}
	s.Commands = []string{"echo well"}
	if last, err := Run(t.Context(), s); err != nil || last != "well" {
		t.Errorf("the next: %q, %v", last, err)
	}
}
