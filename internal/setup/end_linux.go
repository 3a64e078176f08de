package setup

import (
	"fmt"
	"os"

	"middleman/internal/proc"
)

// End ends every process of ours that has mark in its environment, and what
// descends from those, and returns when none is left.
func End(mark string) error {
	var sure bool // of the last look, as is the error
	var lookErr error
	stop := proc.NewStop(func() (found []proc.Process, err error) {
		found, sure, lookErr = marked(mark)
		return found, lookErr
	})
	stop.Quiet, stop.Unsure = 4, func() bool { return !sure }
	if left := stop.Kill(); len(left) > 0 {
		return fmt.Errorf("processes %v do not end", left)
	}
	return lookErr
}

// marked lists the processes with mark that have not ended, and those below. sure
// is false where one may have the mark and does not show it yet.
func marked(mark string) (found []proc.Process, sure bool, err error) {
	t, err := proc.All()
	if err != nil {
		return nil, true, fmt.Errorf("look for processes that are left: %w", err)
	}
	self := os.Getpid()
	members, sure := t.WithEnv(mark, func(p proc.Process) bool { return p.Dead || p.PID == self })
	return t.Without(t.Below(0, members), func(p proc.Process) bool { return p.Dead || p.PID == self }), sure, nil
}
