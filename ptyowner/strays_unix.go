//go:build unix

package ptyowner

import (
	"time"

	"golang.org/x/sys/unix"

	"middleman/internal/proc"
)

// strays lists the processes of a session without an owner, as far as they can
// be told.
func (d stateDir) strays() ([]int, error) {
	found, _, err := d.strayProcesses()
	return proc.PIDs(found), err
}

// stopStrays ends the processes of a session that has no owner, as far as they
// can be told, and returns those that would not end.
func (d stateDir) stopStrays(grace time.Duration) []int {
	sure := true // the last look was
	s := proc.NewStop(func() (found []proc.Process, err error) {
		found, sure, err = d.strayProcesses()
		return found, err
	})
	s.Log = func(err error) { logf("list processes: %v", err) }
	s.Quiet, s.Unsure = 2, func() bool { return !sure }
	ask := func(proc.Process) []unix.Signal { return []unix.Signal{unix.SIGTERM, unix.SIGCONT} }
	if grace > 0 && s.Ask(time.Now().Add(grace), ask) {
		return nil
	}
	return s.Kill()
}
