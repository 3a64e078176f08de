//go:build unix

package state

import (
	"os"
	"time"

	"golang.org/x/sys/unix"

	"middleman/internal/proc"
)

// Strays returns the ids of the processes of a session without an owner, as far as
// they can be told.
func (d Dir) Strays() ([]int, error) {
	found, _, err := d.StrayProcesses()
	return proc.PIDs(found), err
}

// StopStrays ends the processes of a session without an owner, as far as they can
// be told. It asks them first, where grace is more than 0, and kills those that are
// there after it. It blocks until none is left, and returns those that would not
// end.
func (d Dir) StopStrays(grace time.Duration) []int {
	sure := true // the last look was
	s := proc.NewStop(func() (found []proc.Process, err error) {
		found, sure, err = d.StrayProcesses()
		return found, err
	})
	s.Log = func(err error) { Note(os.Stderr, "list processes: %v", err) }
	s.Quiet, s.Unsure = 2, func() bool { return !sure }
	ask := func(proc.Process) []unix.Signal { return []unix.Signal{unix.SIGTERM, unix.SIGCONT} }
	if grace > 0 && s.Ask(time.Now().Add(grace), ask) {
		return nil
	}
	return s.Kill()
}
