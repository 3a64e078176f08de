//go:build unix

package proc

import (
	"errors"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"middleman/internal/fault"
)

// What happens at a stop, in detail:
//
//  1. Ask sends each process the signals that are for it, and waits.
//  2. Kill freezes what is left: it is stopped group by group and one by one,
//     until a look finds nobody new. What is stopped forks no more, so even what
//     forks faster than it can be found is outrun.
//  3. All of it is killed, and it is looked again until nothing is left.
//
// Nobody is signalled by pid alone; see Signal.

const (
	// stopPoll is how often a stop looks at what is left: the end of a process
	// that is no child of this one sends it no signal. A look that takes long is
	// not taken that often.
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

// Stop is one stop. All fields may be left as they are.
type Stop struct {
	// Quiet is how many looks in a row must find nothing, 1 where it is 0. Who
	// looks for environments needs 2: what forks all the time may be missed by
	// one.
	Quiet int
	// Unsure reports whether the last look may have missed something that it has
	// seen; see HasEnv. Then that it found nothing does not count.
	Unsure func() bool
	// Orphans changes whenever an orphan was waited for: one that was there for
	// a part of a look only may have left another behind.
	Orphans func() uint64
	// Reaper waits for orphans in this process's place, 0 where it does itself.
	Reaper int
	// Group stops the group of a process; nil where groups may have members
	// that are not to be ended.
	Group func(Process)
	// Log is told what went wrong with a look.
	Log func(error)

	look func() ([]Process, error)
	// asked, frozen and refused are those that were, and that may not be.
	asked, frozen, refused map[ID]bool
}

// NewStop returns a stop of what look lists, ancestors first.
func NewStop(look func() ([]Process, error)) *Stop {
	return &Stop{
		Unsure: func() bool { return false }, Orphans: func() uint64 { return 0 }, Log: func(error) {},
		look: look, asked: make(map[ID]bool), frozen: make(map[ID]bool), refused: make(map[ID]bool),
	}
}

// Ask sends each process the signals for it, once, and blocks until none is left
// that there are signals for, which it reports, or until deadline. What such a
// process starts to end in good order is left alone as long as it lives.
func (s *Stop) Ask(deadline time.Time, signals func(Process) []unix.Signal) (ended bool) {
	for first := true; ; first = false {
		began := time.Now()
		found, err := s.look()
		if err != nil {
			s.Log(err)
		}
		here := make(map[int]bool, len(found))
		left := err != nil
		for _, p := range found {
			here[p.PID] = true
			toSend := signals(p)
			left = left || toSend != nil
			if p.Dead || s.asked[p.ID()] || !first && here[p.Parent] {
				continue
			}
			for _, sig := range toSend {
				s.asked[p.ID()] = true
				_ = Signal(p, sig) // gone, or the kill tells
			}
		}
		fault.Here("stop/signalled")
		if !left || time.Now().After(deadline) {
			return !left
		}
		s.pause(began, deadline)
	}
}

// Kill freezes and kills everything, blocks until nothing is left, and returns
// the pids of what would not end within a few seconds.
func (s *Stop) Kill() (left []int) {
	fault.Here("stop/before-kill")
	began := time.Now()
	deadline := began.Add(killTime)
	for quiet := 0; ; {
		look := time.Now()
		found, err := s.freeze(look.Add(freezeTime))
		switch {
		case err != nil:
			s.Log(err)
		case len(found) > 0 || s.Unsure():
			quiet = 0
		default:
			if quiet++; quiet >= s.Quiet {
				return nil
			}
		}
		fault.Here("stop/frozen")
		for _, p := range found {
			if !p.Dead {
				s.signal(p, unix.SIGKILL)
			}
		}
		now := time.Now()
		if now.After(deadline) || len(found) > 0 && now.After(began.Add(refusedTime)) && s.onlyRefused(found) {
			return PIDs(found)
		}
		s.pause(look, deadline)
	}
}

// freeze stops every process, until a look finds nobody new, and returns what
// that look found.
func (s *Stop) freeze(deadline time.Time) (found []Process, err error) {
	for {
		orphans := s.Orphans()
		if found, err = s.look(); err != nil {
			return nil, err
		}
		if !s.stopNew(found) && !s.unreaped(found) && s.Orphans() == orphans || time.Now().After(deadline) {
			return found, nil
		}
	}
}

// unreaped reports whether one of found is to be waited for by the reaper.
func (s *Stop) unreaped(found []Process) bool {
	return s.Reaper != 0 && slices.ContainsFunc(found, func(p Process) bool { return p.Dead && p.Parent == s.Reaper })
}

// stopNew stops those of found that are not, and reports whether there were
// any; each may have forked before.
func (s *Stop) stopNew(found []Process) (any bool) {
	groups := make(map[int]bool)
	for _, p := range found {
		if p.Dead || s.frozen[p.ID()] {
			continue
		}
		if s.Group != nil && !groups[p.Group] {
			groups[p.Group] = true
			s.Group(p)
		}
		s.frozen[p.ID()] = true
		any = s.signal(p, unix.SIGSTOP) || any
	}
	return any
}

// signal signals p and reports false where that is refused.
func (s *Stop) signal(p Process, sig unix.Signal) bool {
	if errors.Is(Signal(p, sig), unix.EPERM) {
		s.refused[p.ID()] = true
	}
	return !s.refused[p.ID()]
}

// onlyRefused reports whether all that live may not be signalled.
func (s *Stop) onlyRefused(found []Process) bool {
	return !slices.ContainsFunc(found, func(p Process) bool { return !p.Dead && !s.refused[p.ID()] })
}

// pause waits for the next look, longer where a look takes long.
func (s *Stop) pause(began, deadline time.Time) {
	took := time.Since(began)
	wait := min(max(stopPoll, 2*took), 10*stopPoll)
	time.Sleep(max(0, min(wait, time.Until(deadline))))
}
