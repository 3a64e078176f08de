package setup

import (
	"fmt"
	"os"

	"middleman/internal/proc"
)

// End ends every process of ours that has mark in its environment, and what
// descends from those, and returns when none is left.
func End(mark string) error {
	stop := proc.NewStop(func() ([]proc.Process, error) { return marked(mark) })
	stop.Quiet = 2
	var lookErr error
	stop.Log = func(err error) { lookErr = err }
	left := stop.Kill()
	if len(left) > 0 {
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
