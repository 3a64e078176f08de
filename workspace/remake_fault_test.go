//go:build faults && unix

package workspace_test

import (
	"os"
	"testing"

	"middleman/internal/fault"
)

// A restore of a clean workspace that is killed anywhere is done to the end by
// the next one.
func TestFaultRemakeKilled(t *testing.T) {
	for _, place := range []string{"restore/directory", "restore/added", "create/checkout", "create/checked-out"} {
		t.Run(place, func(t *testing.T) {
			t.Parallel()
			m, base := newManager(t)
			w := deleteClean(t, m, newRepo(t))
			plan := fault.NewPlan(t.TempDir())
			if err := plan.Set(place, fault.Kill, 0, 1); err != nil {
				t.Fatal(err)
			}
			job := faultJob{base, w, true}
			if err := job.run(t, plan); err == nil {
				t.Fatal("it was not killed")
			}
			if err := job.run(t, plan); err != nil {
				t.Fatalf("once more: %v", err)
			}
			checkRemade(t, w, w.Branch)
			if entries, err := os.ReadDir(base); err != nil || len(entries) != 1 {
				t.Errorf("left in the base: %v, %v", entries, err)
			}
		})
	}
}
