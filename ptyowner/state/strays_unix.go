//go:build unix

package state

import (
	"os"
	"time"

	"golang.org/x/sys/unix"

	"middleman/internal/proc"
	"middleman/terminal"
)

// BindSignal asks an owner to look whether its socket still leads to it, and to bind it
// again if not. Owners catch every signal, those of earlier builds too.
const BindSignal = unix.SIGUSR1

// Strays returns the ids of the processes of a session without an owner, as far
// as they can be found. It looks again, for two seconds at most, while a process
// is too young to tell.
func (d Dir) Strays() ([]int, error) {
	for deadline := time.Now().Add(proc.Youth); ; time.Sleep(youngPause) {
		found, sure, err := d.StrayProcesses()
		if sure || time.Now().After(deadline) {
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
// that remain have not ended within a few seconds of the kill: then the error is a
// *terminal.LeftoverError.
func (d Dir) StopStrays(grace time.Duration) error {
	sure, failed := true, error(nil) // of the last search
	s := proc.NewStop(func() (found []proc.Process, err error) {
		found, sure, err = d.StrayProcesses()
		failed = err
		return found, err
	})
	s.Log = func(err error) { Note(os.Stderr, "list processes: %v", err) }
	s.Quiet, s.Unsure = 2, func() bool { return !sure }
	ask := func(proc.Process) []unix.Signal { return []unix.Signal{unix.SIGTERM, unix.SIGCONT} }
	if grace > 0 && s.Ask(time.Now().Add(grace), ask) {
		return nil
	}
	if left := s.Kill(); len(left) > 0 {
		return &terminal.LeftoverError{Session: d.ID, PIDs: left}
	}
	return failed
}
