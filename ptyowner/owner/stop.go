//go:build unix

package owner

import (
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"middleman/internal/cgroup"
	"middleman/internal/fault"
	"middleman/internal/proc"
)

// The steps of a stop:
//
//  1. The owner asks the foreground job to end, with SIGHUP, SIGTERM and
//     SIGCONT. The job has half of the grace, while its shell still holds the
//     terminal open. Then the owner asks all processes, with SIGHUP only for the
//     program's process group. Without a grace it skips this step.
//  2. It freezes and kills the processes that are left after the grace; see
//     proc.Stop. If the program has a cgroup of its own, the owner kills that
//     first, in one step.
//  3. It answers once the exit is recorded.

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
		o.askJob(s, deadline.Add(-grace/2))
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
