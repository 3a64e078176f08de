//go:build unix

package ptyowner

import (
	"errors"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"middleman/internal/fault"
)

// What happens at a stop, in detail:
//
//  1. The foreground job is asked to end, with SIGHUP, SIGTERM and SIGCONT,
//     and has half of the grace for it, while its shell still holds the
//     terminal open. Then everything is asked, SIGHUP going to the program's
//     group. Without a grace nobody is asked.
//  2. What is left after the grace is frozen: stopped group by group and one by
//     one, until a look finds nobody new. What is stopped forks no more, so
//     even what forks faster than it can be found is outrun.
//  3. All of it is killed. Where the program has a cgroup of its own, that is
//     killed first, in one step.
//  4. It is looked again until nothing is left, and answered when the exit is
//     recorded.
//
// Nobody is signalled by pid alone; see signalProcess.

const (
	// stopPoll is how often a stop looks at what is left. The end of a
	// process that is not the owner's child sends the owner no signal. A look
	// that takes long is not taken that often.
	stopPoll = 5 * time.Millisecond
	// killTime is how long SIGKILL may take to show.
	killTime = 5 * time.Second
	// refusedTime is how long those that may not be signalled have to end by
	// themselves once all others are gone.
	refusedTime = 500 * time.Millisecond
)

// freezeTime is how long a stop may look for those that fork meanwhile before
// it kills those that it has.
const freezeTime = time.Second

// stopping is one stop.
type stopping struct {
	// look lists what there is to end, ancestors first.
	look func() ([]process, error)
	// orphans changes whenever an orphan was waited for: one that was there for
	// a part of a look only may have left another behind.
	orphans func() uint64
	// reaper waits for orphans in the owner's place, 0 where the owner does.
	reaper int
	// group stops the group of a process; nil where groups may have members
	// that are not of the session.
	group func(process)
	// asked, frozen and refused are those that were, and that may not be.
	asked, frozen, refused map[processID]bool
}

func newStopping(look func() ([]process, error)) *stopping {
	return &stopping{
		look:    look,
		orphans: func() uint64 { return 0 },
		asked:   make(map[processID]bool),
		frozen:  make(map[processID]bool),
		refused: make(map[processID]bool),
	}
}

// stopStrays ends the processes of a session that has no owner, as far as they
// can be told, and returns those that would not end.
func stopStrays(d stateDir, grace time.Duration) []int {
	s := newStopping(func() ([]process, error) { return strayProcesses(d) })
	ask := func(process) []unix.Signal { return []unix.Signal{unix.SIGTERM, unix.SIGCONT} }
	if grace > 0 && s.ask(time.Now().Add(grace), ask) {
		return nil
	}
	return s.kill()
}

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

	s := newStopping(o.processes)
	s.orphans, s.group = o.orphansSeen, stopGroup
	s.reaper = o.reaper()
	deadline := time.Now().Add(grace)
	if grace > 0 {
		o.askJob(s, deadline.Add(-grace/2))
	}
	fault.Here("stop/hung-up")
	if grace <= 0 || !o.askAll(s, deadline) {
		findCgroup(o.spec.ID).kill()
		o.stopGroups()
		left = s.kill()
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
func (o *owner) askJob(s *stopping, deadline time.Time) {
	job := o.foregroundGroup()
	if job <= 0 || job == o.pid {
		return
	}
	s.ask(deadline, func(p process) []unix.Signal {
		if p.group != job {
			return nil
		}
		return []unix.Signal{unix.SIGHUP, unix.SIGTERM, unix.SIGCONT}
	})
}

// askAll asks everybody to end, and reports whether nothing is left.
func (o *owner) askAll(s *stopping, deadline time.Time) bool {
	return s.ask(deadline, func(p process) []unix.Signal {
		if p.group != o.pid {
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
		if p, ok := findProcess(pid); ok && p.session == o.pid {
			stopGroup(p)
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
		return waitedFor(pid)
	}
	if childEnded() {
		return o.reapCount.Add(1)
	}
	return o.reapCount.Load()
}

// ask sends each process the signals for it, once, and waits until none is
// left that there are signals for. What such a process starts to end in good
// order is left alone as long as it lives.
func (s *stopping) ask(deadline time.Time, signals func(process) []unix.Signal) (ended bool) {
	for first := true; ; first = false {
		began := time.Now()
		found, err := s.look()
		if err != nil {
			logf("list processes: %v", err)
		}
		here := make(map[int]bool, len(found))
		left := err != nil
		for _, p := range found {
			here[p.pid] = true
			toSend := signals(p)
			left = left || toSend != nil
			if p.dead || s.asked[p.id()] || !first && here[p.parent] {
				continue
			}
			for _, sig := range toSend {
				s.asked[p.id()] = true
				_ = signalProcess(p, sig) // gone, or the kill tells
			}
		}
		fault.Here("stop/signalled")
		if !left || time.Now().After(deadline) {
			return !left
		}
		s.pause(began, deadline)
	}
}

// kill freezes and kills everything and returns what would not end.
func (s *stopping) kill() (left []int) {
	fault.Here("stop/before-kill")
	began := time.Now()
	deadline := began.Add(killTime)
	for {
		look := time.Now()
		found, err := s.freeze(look.Add(freezeTime))
		if err != nil {
			logf("list processes: %v", err)
		} else if len(found) == 0 {
			return nil
		}
		fault.Here("stop/frozen")
		for _, p := range found {
			if !p.dead {
				s.signal(p, unix.SIGKILL)
			}
		}
		now := time.Now()
		if now.After(deadline) || err == nil && now.After(began.Add(refusedTime)) && s.onlyRefused(found) {
			return pidsOf(found)
		}
		s.pause(look, deadline)
	}
}

// freeze stops every process, until a look finds nobody new, and returns what
// that look found.
func (s *stopping) freeze(deadline time.Time) (found []process, err error) {
	for {
		orphans := s.orphans()
		if found, err = s.look(); err != nil {
			return nil, err
		}
		if !s.stopNew(found) && !s.unreaped(found) && s.orphans() == orphans || time.Now().After(deadline) {
			return found, nil
		}
	}
}

// unreaped reports whether one of found is to be waited for by the reaper.
func (s *stopping) unreaped(found []process) bool {
	return s.reaper != 0 && slices.ContainsFunc(found, func(p process) bool { return p.dead && p.parent == s.reaper })
}

// stopNew stops those of found that are not, and reports whether there were
// any; each may have forked before.
func (s *stopping) stopNew(found []process) (any bool) {
	groups := make(map[int]bool)
	for _, p := range found {
		if p.dead || s.frozen[p.id()] {
			continue
		}
		if s.group != nil && !groups[p.group] {
			groups[p.group] = true
			s.group(p)
		}
		s.frozen[p.id()] = true
		any = s.signal(p, unix.SIGSTOP) || any
	}
	return any
}

// signal signals p and reports false where that is refused.
func (s *stopping) signal(p process, sig unix.Signal) bool {
	if errors.Is(signalProcess(p, sig), unix.EPERM) {
		s.refused[p.id()] = true
	}
	return !s.refused[p.id()]
}

// onlyRefused reports whether all that live may not be signalled.
func (s *stopping) onlyRefused(found []process) bool {
	return !slices.ContainsFunc(found, func(p process) bool { return !p.dead && !s.refused[p.id()] })
}

// pause waits for the next look, longer where a look takes long.
func (s *stopping) pause(began, deadline time.Time) {
	took := time.Since(began)
	wait := min(max(stopPoll, 2*took), 10*stopPoll)
	time.Sleep(max(0, min(wait, time.Until(deadline))))
}
