//go:build unix

package state

import (
	"os"
	"time"

	"golang.org/x/sys/unix"

	"middleman/internal/proc"
)

// Strays returns the ids of the processes of a session without an owner, as far
// as they can be found. It looks again, for two seconds at most, while a process
// is too young to tell.
func (d Dir) Strays() ([]int, error) {
	for deadline := time.Now().Add(proc.Youth); ; time.Sleep(youngPause) {
		found, sure, err := d.StrayProcesses()
		if err != nil || sure || time.Now().After(deadline) {
			return proc.PIDs(found), err
		}
	}
}

// youngPause is the pause between two looks at a process that shows no environment
// yet, which it does once its execve(2) is over.
const youngPause = 5 * time.Millisecond

// StopStrays ends the processes of a session without an owner, as far as they
// can be found. If grace is more than 0 it sends them SIGTERM first, and kills
// those that remain after grace. It blocks until none is left, or until those
// that remain have not ended within a few seconds of the kill; it returns their
// ids.
func (d Dir) StopStrays(grace time.Duration) []int {
	sure := true // whether the last search was sure
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
