//go:build unix

package ptyowner

import (
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"middleman/internal/fault"
)

const (
	// stopPoll is how often a stop looks at what is left. The end of a
	// process that is not the owner's child sends the owner no signal.
	stopPoll = 5 * time.Millisecond
	// killTime is how long SIGKILL may take to show.
	killTime = 5 * time.Second
)

// stopStrays ends the processes of a session that has no owner, as far as they
// can be told, and returns those that would not end.
func stopStrays(session string, grace time.Duration) []int {
	return endAll(func() ([]int, error) { return strays(session) }, grace)
}

// stop ends every process of the session and returns those that would not
// end. SIGHUP and SIGCONT go to the foreground group, SIGTERM to all, and
// after grace SIGKILL. It returns when the exit is recorded.
// While another image of the owner takes over it is errPaused.
func (o *owner) stop(grace time.Duration) (left []int, err error) {
	fault.Here("stop/asked")
	o.mu.Lock()
	if o.phase == phasePaused {
		o.mu.Unlock()
		return nil, errPaused
	}
	if err := o.stepLocked(eventStop); err != nil {
		o.mu.Unlock()
		return nil, err
	}
	if o.end == nil {
		if group := o.pty.foreground(); group > 0 {
			signalGroup(group, unix.SIGHUP, unix.SIGCONT)
		}
		signalGroup(o.pid, unix.SIGHUP, unix.SIGCONT)
	}
	o.mu.Unlock()
	fault.Here("stop/hung-up")

	left = endAll(o.remaining, grace)
	fault.Here("stop/all-ended")
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.exit == nil && !slices.Contains(left, o.pid) {
		o.changed.Wait()
	}
	return left, nil
}

// endAll ends the processes that list returns: SIGTERM, and after grace
// SIGKILL. It returns those that would not end.
func endAll(list func() ([]int, error), grace time.Duration) (left []int) {
	if left = await(list, grace, unix.SIGTERM); len(left) > 0 {
		fault.Here("stop/before-kill")
		left = await(list, killTime, unix.SIGKILL)
	}
	return left
}

// await sends sig to everything that list returns, once to each process and
// SIGKILL at every look, and returns what is left after d. A list that fails
// is looked at again.
func await(list func() ([]int, error), d time.Duration, sig unix.Signal) (left []int) {
	told := make(map[int]bool)
	for deadline := time.Now().Add(d); ; time.Sleep(stopPoll) {
		now, err := list()
		if err != nil {
			logf("list processes: %v", err)
		} else if left = now; len(left) == 0 {
			return nil
		}
		late := time.Now().After(deadline)
		if late && sig != unix.SIGKILL {
			return left
		}
		for _, pid := range left {
			if !told[pid] || sig == unix.SIGKILL {
				told[pid] = true
				unix.Kill(pid, sig)
				unix.Kill(pid, unix.SIGCONT)
			}
		}
		fault.Here("stop/signalled")
		if late {
			return left
		}
	}
}

// signalGroup signals a process group; one that is gone needs none.
func signalGroup(group int, signals ...unix.Signal) {
	for _, sig := range signals {
		unix.Kill(-group, sig)
	}
}
