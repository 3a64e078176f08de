package setup

import (
	"fmt"
	"os"

	"middleman/internal/proc"
)

// End ends every process of ours that has mark in its environment, and what
// descends from those, and returns when none is left.
func End(mark string) error {
	var lookErr error // of the last look
	stop := proc.NewStop(func() (found []proc.Process, err error) {
		found, lookErr = marked(mark)
		return found, lookErr
	})
	stop.Quiet = 2
	if left := stop.Kill(); len(left) > 0 {
		return fmt.Errorf("processes %v do not end", left)
	}
	return lookErr
}

// marked lists the processes with mark that have not ended, and those below.
func marked(mark string) ([]proc.Process, error) {
	t, err := proc.All()
	if err != nil {
		return nil, fmt.Errorf("look for processes that are left: %w", err)
	}
	self := os.Getpid()
	members := make(map[int]bool)
	for pid, p := range t {
		if !p.Dead && pid != self && proc.HasEnv(p, mark) {
			members[pid] = true
		}
	}
	return t.Without(t.Below(0, members), func(p proc.Process) bool { return p.Dead || p.PID == self }), nil
}
