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

// What happens at a stop, in detail:
//
//  1. The foreground job is asked to end, with SIGHUP, SIGTERM and SIGCONT,
//     and has half of the grace for it, while its shell still holds the
//     terminal open. Then everything is asked, SIGHUP going to the program's
//     group. Without a grace nobody is asked.
//  2. What is left after the grace is frozen and killed; see proc.Stop. Where
//     the program has a cgroup of its own, that is killed first, in one step.
//  3. It is answered when the exit is recorded.

// stop ends every process of the session and returns those that would not
// end. It returns when the exit is recorded. While another image of the owner
// takes over it is errPaused.
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

// askJob asks the foreground job to end, where that is not the program's own
// group, and waits for it.
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

// askAll asks everybody to end, and reports whether nothing is left.
func (o *owner) askAll(s *proc.Stop, deadline time.Time) bool {
	return s.Ask(deadline, func(p proc.Process) []unix.Signal {
		if p.Group != o.pid {
			return []unix.Signal{unix.SIGTERM, unix.SIGCONT}
		}
		return []unix.Signal{unix.SIGHUP, unix.SIGTERM, unix.SIGCONT}
	})
}

// foregroundGroup is the process group that the terminal's keys signal, 0
// where there is none.
func (o *owner) foregroundGroup() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.end != nil {
		return 0
	}
	return o.term.Foreground()
}

// stopGroups stops the program's group and the foreground job before there was
// a look, which takes long where hundreds fork all the time.
func (o *owner) stopGroups() {
	front := o.foregroundGroup()
	o.mu.Lock() // o.pid is the program's
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

// reaper is who waits for orphans in the owner's place, 0 where the owner does.
func (o *owner) reaper() int {
	if root, _ := o.term.Root(); root != os.Getpid() {
		return root
	}
	return 0
}

// orphansSeen counts the children that the owner has waited for, and is
// another number as long as one is to be waited for. Of another reaper it is a
// number that changes with each.
func (o *owner) orphansSeen() uint64 {
	if pid := o.reaper(); pid != 0 {
		return proc.WaitedFor(pid)
	}
	if proc.ChildEnded() {
		return o.reapCount.Add(1)
	}
	return o.reapCount.Load()
}

// remaining lists the processes of the session that live.
func (o *owner) remaining() ([]int, error) {
	found, err := o.processes()
	return proc.PIDs(found), err
}
