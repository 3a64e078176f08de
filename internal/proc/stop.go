//go:build unix

package proc

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"middleman/internal/fault"
)

// How a stop works:
//
//  1. Ask sends each process its signals, and waits.
//  2. Kill freezes the processes that are left: it stops them (SIGSTOP) by group
//     and one by one, until a look finds no new process. A stopped process cannot
//     fork, so this catches even processes that fork faster than they are found.
//  3. Kill then kills them all, and looks again, until none is left.
//
// No process is signalled by its pid alone; see Signal.

const (
	// stopPoll is the pause between two looks. A stop must poll, because it gets
	// no signal at the end of a process that is not its child. After a slow look,
	// the pause is longer.
	stopPoll = 5 * time.Millisecond
	// killTime bounds how long processes may take to end after SIGKILL, where
	// Stop.Within is 0.
	killTime = 5 * time.Second
	// refusedTime is how long processes that may not be signalled (EPERM) get to
	// end by themselves, once all others have ended.
	refusedTime = 500 * time.Millisecond
)

// freezeTime bounds how long a stop freezes new processes before it kills those
// that it has found.
const freezeTime = time.Second

// Stop is one stop of a set of processes. Make it with NewStop. The fields are
// optional.
type Stop struct {
	// Quiet is how many looks in a row must find nothing; 0 means 1. A look that
	// finds processes by their environment needs 2: one look may miss processes
	// that fork all the time.
	Quiet int
	// Within bounds how long Kill may take; 0 means 5 s.
	Within time.Duration
	// Unsure reports whether the last look may have missed a process (see
	// hasEnv). Then a look that found nothing does not count.
	Unsure func() bool
	// Orphans returns a number that changes whenever an orphan was waited for. An
	// orphan that existed only during a part of a look may have left another one.
	Orphans func() uint64
	// Reaper is the pid of the process that waits for orphans, 0 if this process
	// does.
	Reaper int
	// Group stops the process group of a process, like StopGroup. It is nil if
	// groups may have members that must not be ended.
	Group func(Process)
	// Log is called with each error of a look.
	Log func(error)

	look func() ([]Process, error)
	// asked, frozen and refused are the processes that were sent the signals of
	// Ask, that were stopped, and that may not be signalled.
	asked, frozen, refused map[identity]bool
}

// NewStop returns a stop of the processes that look returns. look must list
// ancestors before their descendants.
func NewStop(look func() ([]Process, error)) *Stop {
	return &Stop{
		Unsure: func() bool { return false }, Orphans: func() uint64 { return 0 }, Log: func(error) {},
		look: look, asked: make(map[identity]bool), frozen: make(map[identity]bool), refused: make(map[identity]bool),
	}
}

// Ask sends each process the signals that signals returns for it, once. It blocks
// until no process with signals is left, and returns true, or until deadline, and
// returns false. After the first look, it sends nothing to a new process whose
// parent is still there: a program may start helpers to end in good order.
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
			if p.Dead || s.asked[p.identity()] || !first && here[p.Parent] {
				continue
			}
			for _, sig := range toSend {
				s.asked[p.identity()] = true
				_ = signal(p, sig) // it has ended, or Kill will meet the error again
			}
		}
		fault.Here("stop/signalled")
		if !left || time.Now().After(deadline) {
			return !left
		}
		s.pause(began, deadline)
	}
}

// Kill freezes and kills all processes, and blocks until none is left. It returns
// the pids of processes that did not end within Stop.Within.
func (s *Stop) Kill() (left []int) {
	fault.Here("stop/before-kill")
	began := time.Now()
	deadline := began.Add(cmp.Or(s.Within, killTime))
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

// freeze stops (SIGSTOP) every process, until a look finds no new one or deadline
// is over, and returns what the last look found.
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

// unreaped reports whether found has a dead process that Reaper has yet to wait
// for.
func (s *Stop) unreaped(found []Process) bool {
	return s.Reaper != 0 && slices.ContainsFunc(found, func(p Process) bool { return p.Dead && p.Parent == s.Reaper })
}

// stopNew stops the processes of found that are not stopped yet, and reports
// whether there were any. Each of these may have forked before.
func (s *Stop) stopNew(found []Process) (any bool) {
	groups := make(map[int]bool)
	for _, p := range found {
		if p.Dead || s.frozen[p.identity()] {
			continue
		}
		if s.Group != nil && !groups[p.Group] {
			groups[p.Group] = true
			s.Group(p)
		}
		s.frozen[p.identity()] = true
		any = s.signal(p, unix.SIGSTOP) || any
	}
	return any
}

// signal sends sig to p, and reports false if that was ever refused (EPERM).
func (s *Stop) signal(p Process, sig unix.Signal) bool {
	if errors.Is(signal(p, sig), unix.EPERM) {
		s.refused[p.identity()] = true
	}
	return !s.refused[p.identity()]
}

// onlyRefused reports whether all processes of found that are not dead may not be
// signalled.
func (s *Stop) onlyRefused(found []Process) bool {
	return !slices.ContainsFunc(found, func(p Process) bool { return !p.Dead && !s.refused[p.identity()] })
}

// pause waits before the next look, longer if the last one, which began at began,
// was slow. It does not wait beyond deadline.
func (s *Stop) pause(began, deadline time.Time) {
	took := time.Since(began)
	wait := min(max(stopPoll, 2*took), 10*stopPoll)
	time.Sleep(max(0, min(wait, time.Until(deadline))))
}
