//go:build unix

package ptyowner

import (
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"middleman/terminal"
)

const (
	// stopPoll is how often a stop looks at what is left. The end of a
	// process that is not the owner's child sends the owner no signal.
	stopPoll = 5 * time.Millisecond
	// killTime is how long SIGKILL may take to show.
	killTime = 5 * time.Second
)

// stop ends every process of the session and returns those that would not
// end. SIGHUP and SIGCONT go to the foreground group, SIGTERM to all, and
// after grace SIGKILL. It returns when the exit is recorded.
func (o *owner) stop(grace time.Duration) (left []int) {
	o.mu.Lock()
	if o.state == terminal.StateRunning {
		o.state = terminal.StateStopping
	}
	if !o.reaped {
		if group := o.pty.foreground(); group > 0 {
			signalGroup(group, unix.SIGHUP, unix.SIGCONT)
		}
		signalGroup(o.pid, unix.SIGHUP, unix.SIGCONT)
	}
	o.mu.Unlock()

	left = o.await(grace, unix.SIGTERM)
	if len(left) > 0 {
		left = o.await(killTime, unix.SIGKILL)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.exit == nil && !slices.Contains(left, o.pid) {
		o.changed.Wait()
	}
	return left
}

// await sends sig to everything of the session, once to each process and
// SIGKILL at every look, and returns what is left after d.
func (o *owner) await(d time.Duration, sig unix.Signal) []int {
	told := make(map[int]bool)
	for deadline := time.Now().Add(d); ; {
		left, err := o.remaining()
		if err != nil {
			logf("list processes: %v", err)
			left = []int{o.pid}
		}
		if len(left) == 0 || time.Now().After(deadline) && sig != unix.SIGKILL {
			return left
		}
		for _, pid := range left {
			if !told[pid] || sig == unix.SIGKILL {
				told[pid] = true
				unix.Kill(pid, sig)
				unix.Kill(pid, unix.SIGCONT)
			}
		}
		if time.Now().After(deadline) {
			return left
		}
		time.Sleep(stopPoll)
	}
}

// signalGroup signals a process group; one that is gone needs none.
func signalGroup(group int, signals ...unix.Signal) {
	for _, sig := range signals {
		unix.Kill(-group, sig)
	}
}
