//go:build unix

package owner

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"middleman/internal/cgroup"
	"middleman/internal/fault"
	"middleman/internal/proc"
	"middleman/terminal"
	"middleman/terminal/sight"
	"middleman/terminal/vt"
)

// The steps of a stop:
//
//  1. The owner types the stop keys of the program, if it has any, and gives it half of
//     the grace; see typeStopKeys.
//  2. The owner asks the foreground job to end, with SIGHUP, SIGTERM and
//     SIGCONT. The job has half of what is left of the grace, while its shell
//     still holds the terminal open. Then the owner asks all processes, with SIGHUP
//     only for the program's process group. Without a grace it skips both steps.
//  3. It freezes and kills the processes that are left after the grace; see
//     proc.Stop. If the program has a cgroup of its own, the owner kills that
//     first, in one step.
//  4. It answers once the exit is recorded.

// stop ends every process of the session and returns those that did not end. It
// blocks until the exit is recorded, unless the program is one of them. It
// returns errPaused while another image takes over.
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
	o.mu.Unlock()

	s := proc.NewStop(o.processes)
	s.Log = func(err error) { logf("list processes: %v", err) }
	s.Orphans, s.Group = o.orphansSeen, proc.StopGroup
	s.Reaper = o.reaper()
	deadline := time.Now().Add(grace)
	if grace > 0 {
		o.typeStopKeys(deadline.Add(-grace / 2))
		o.askJob(s, time.Now().Add(time.Until(deadline)/2))
	}
	fault.Here("stop/hung-up")
	if grace <= 0 || !o.askAll(s, deadline) {
		cgroup.Find(o.spec.ID).Kill()
		o.stopGroups()
		left = s.Kill()
	}
	fault.Here("stop/all-ended")
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.exit == nil && !slices.Contains(left, o.pid) {
		o.changed.Wait()
	}
	return left, nil
}

// askJob asks the foreground job to end, unless that is the program's own
// process group, and waits for it.
func (o *owner) askJob(s *proc.Stop, deadline time.Time) {
	job := o.foregroundGroup()
	if job <= 0 || job == o.pid {
		return
	}
	s.Ask(deadline, func(p proc.Process) []unix.Signal {
		if p.Group != job {
			return nil
		}
		return []unix.Signal{unix.SIGHUP, unix.SIGTERM, unix.SIGCONT}
	})
}

// askAll asks all processes to end, and reports whether none is left.
func (o *owner) askAll(s *proc.Stop, deadline time.Time) bool {
	return s.Ask(deadline, func(p proc.Process) []unix.Signal {
		if p.Group != o.pid {
			return []unix.Signal{unix.SIGTERM, unix.SIGCONT}
		}
		return []unix.Signal{unix.SIGHUP, unix.SIGTERM, unix.SIGCONT}
	})
}

// foregroundGroup returns the process group that the terminal's keys signal, or
// 0 if there is none.
func (o *owner) foregroundGroup() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.end != nil {
		return 0
	}
	return o.term.Foreground()
}

// stopGroups stops the program's process group and the foreground job before
// the first look at all processes, which takes long if hundreds fork all the
// time.
func (o *owner) stopGroups() {
	front := o.foregroundGroup()
	o.mu.Lock() // so that o.pid stays the program's
	defer o.mu.Unlock()
	if o.end != nil {
		return
	}
	for _, pid := range []int{o.pid, front} {
		if p, ok := proc.Find(pid); ok && p.Session == o.pid {
			proc.StopGroup(p)
		}
	}
}

// reaper returns the process that waits for orphans instead of the owner, or 0.
func (o *owner) reaper() int {
	if root, _ := o.term.Root(); root != os.Getpid() {
		return root
	}
	return 0
}

// orphansSeen returns a number that changes whenever an orphan was waited for.
// It also changes with each call while the owner has an ended child to wait
// for.
func (o *owner) orphansSeen() uint64 {
	if pid := o.reaper(); pid != 0 {
		return proc.WaitedFor(pid)
	}
	if proc.ChildEnded() {
		return o.reapCount.Add(1)
	}
	return o.reapCount.Load()
}

// remaining lists the live processes of the session.
func (o *owner) remaining() ([]int, error) {
	found, err := o.processes()
	return proc.PIDs(found), err
}

// How a program is asked to end by its own keys:
//
//  1. Each key is typed as in expect.go, with the program's output held, if the program
//     has the terminal and its screen is none at which the key would do something else.
//  2. The program answers by output, or ends. Some programs ask for a key twice and show
//     that between the two.
//  3. After the last key the program has until the deadline.
//
// A key that may not be typed ends all this: the signals follow.

const (
	// keyTime is how long a program may take to answer a key, and keyQuiet how long it
	// must print nothing to have answered.
	keyTime  = 400 * time.Millisecond
	keyQuiet = 80 * time.Millisecond
	keyPoll  = 20 * time.Millisecond // how often to look, since output does not wake it
)

// typeStopKeys types the stop keys of the program and waits for its end, until the
// deadline. The first stop of the session alone types.
func (o *owner) typeStopKeys(deadline time.Time) {
	keys := o.spec.StopKeys
	o.mu.Lock()
	skip := len(keys.Keys) == 0 || o.keyed || o.end != nil || o.drained
	o.keyed = true
	o.mu.Unlock()
	if skip {
		return
	}
	never := make([]sight.Matcher, len(keys.Never))
	for i, s := range keys.Never {
		var err error
		if never[i], err = sight.Compile(s); err != nil {
			logf("stop keys: %v", err)
			return
		}
	}
	for _, key := range keys.Keys {
		typed := time.Now()
		n, err := o.typeIf(key, true, func() error { return o.mayStop(never) })
		switch {
		case err != nil:
			logf("stop keys: %v", err)
			return
		case n < len(key):
			logf("stop keys: the program does not read")
			return
		}
		if o.awaitAnswer(typed, deadline) {
			return
		}
	}
	o.awaitEnd(deadline, func() bool { return false })
}

// mayStop returns an error unless a stop key may be typed now. Called with taking held.
func (o *owner) mayStop(never []sight.Matcher) error {
	if job := o.foregroundGroup(); job > 0 && job != o.pid {
		return errors.New("another job has the terminal")
	}
	o.mu.Lock()
	ended := o.end != nil
	o.mu.Unlock()
	if ended {
		return terminal.ErrEnded
	}
	var err error
	o.screen.view(func(t *vt.Terminal) {
		rows := strings.Split(t.Text(vt.TextOptions{}), "\n")
		for _, m := range never {
			if m.Holds(t.Title(), rows) {
				err = fmt.Errorf("its screen asks something: %q", strings.TrimSpace(m.First(rows)))
			}
		}
	})
	return err
}

// awaitAnswer waits until the program has answered a key that was typed at that time,
// and reports whether no other key is to be typed: the program has ended, or the deadline
// has passed.
func (o *owner) awaitAnswer(typed, deadline time.Time) (over bool) {
	last := typed.Add(keyTime)
	if last.After(deadline) {
		last = deadline
	}
	ended := o.awaitEnd(last, func() bool {
		return o.printed.After(typed) && time.Since(o.printed) >= keyQuiet
	})
	return ended || !time.Now().Before(deadline)
}

// awaitEnd waits for the program's end, until enough, called with mu held, returns true
// or the deadline passes. It reports whether the program has ended.
func (o *owner) awaitEnd(deadline time.Time, enough func() bool) (ended bool) {
	poll := time.NewTicker(keyPoll)
	defer poll.Stop()
	for {
		o.mu.Lock()
		ended = o.end != nil
		over := ended || enough()
		o.mu.Unlock()
		if over || !time.Now().Before(deadline) {
			return ended
		}
		<-poll.C
	}
}
