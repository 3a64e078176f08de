//go:build unix

package owner

import (
	"errors"
	"os"
	"testing"

	"middleman/terminal"
)

// An upgrade that a stop comes before is refused, and the loops go on: to start
// them again would run each twice.
func TestHandOverBesideAStop(t *testing.T) {
	for _, p := range []phase{phaseStopping, phaseDraining, phaseExited} {
		o := newOwner(terminal.Spec{ID: terminal.NewID("s"), Size: terminal.DefaultSize}, t.TempDir(), "", "test")
		file, err := os.Open(os.DevNull)
		if err != nil {
			t.Fatal(err)
		}
		u := &upgrade{image: &image{file: file}}
		o.phase, o.upgrade = p, u
		joined := false
		if again := o.handOver(u, func() { joined = true }); again || joined {
			t.Errorf("%v: the loops were joined %v, and are started again %v", p, joined, again)
		}
		var refused *phaseError
		if o.upgrade != nil || !errors.As(u.err, &refused) || o.phase != p {
			t.Errorf("%v: phase %v, %v", p, o.phase, u.err)
		}
	}
}
