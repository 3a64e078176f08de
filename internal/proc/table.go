//go:build unix

// Package proc looks at the processes of the machine, and ends them so that none
// is left: it freezes before it kills, and signals nobody by pid alone.
package proc

import (
	"cmp"
	"slices"
)

// Process is one process as it was at a look. PID and Start together say which
// it is: a pid is used again, a start time with it is not.
type Process struct {
	PID, Parent, Group, Session int
	// Foreground is the foreground process group of its terminal, 0 where it has
	// none.
	Foreground int

	Start uint64 // in the system's unit, since boot or the epoch
	Dead  bool   // it has ended, and nobody has waited for it
	// Headless: its first thread has ended, and others run.
	Headless bool
	kernel   bool // a thread of the system's own
	// childFaults are the page faults of the children that it has waited for.
	childFaults uint64
}

// ID tells a process from all others that had or will have its pid.
type ID struct {
	pid   int
	start uint64
}

func (p Process) ID() ID { return ID{p.PID, p.Start} }

// Parent is a process's parent, 0 where that cannot be told.
func Parent(pid int) int {
	p, _ := Find(pid)
	return p.Parent
}

// Foreground is the foreground process group of a process's terminal, 0 where it
// has none.
func Foreground(pid int) int {
	p, _ := Find(pid)
	return p.Foreground
}

// WaitedFor is a number that grows with each child that a process has waited
// for: the page faults that those had, of which each has one at least. It is 0
// where the system does not tell.
func WaitedFor(pid int) uint64 {
	p, _ := Find(pid)
	return p.childFaults
}

// Table is every process of the system by pid.
type Table map[int]Process

// parentOf returns the parent of p. One that is younger than p has the pid of
// the real parent, which has ended since p was looked at.
func (t Table) parentOf(p Process) (Process, bool) {
	parent, ok := t[p.Parent]
	return parent, ok && parent.Start <= p.Start && parent.PID != p.PID
}

// torn reports whether a process was looked at before, and its parent after,
// the parent's end, so that it hangs from nothing.
func (t Table) torn() bool {
	for _, p := range t {
		if _, ok := t.parentOf(p); !ok && p.Parent != 0 {
			return true
		}
	}
	return false
}

// Below returns the processes that descend from pid or are members or descend
// from one, without pid itself, in the order of their start: ancestors first.
func (t Table) Below(pid int, members map[int]bool) []Process {
	var found []Process
	for _, p := range t {
		if p.PID != pid && t.hangsFrom(p, pid, members) {
			found = append(found, p)
		}
	}
	slices.SortFunc(found, func(a, b Process) int {
		return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.PID, b.PID))
	})
	return found
}

func (t Table) hangsFrom(p Process, pid int, members map[int]bool) bool {
	for hops, ok := 0, true; ok && hops < len(t); hops++ {
		if p.PID == pid || members[p.PID] {
			return true
		}
		p, ok = t.parentOf(p)
	}
	return false
}

// WithEnv returns those that have entry in their environment, by pid, but for those
// that spare picks; see HasEnv. sure is false where there may be more.
func (t Table) WithEnv(entry string, spare func(Process) bool) (pids map[int]bool, sure bool) {
	pids, sure = make(map[int]bool), true
	for pid, p := range t {
		if spare(p) {
			continue
		}
		has, known := HasEnv(p, entry)
		if has {
			pids[pid] = true
		}
		sure = sure && known
	}
	return pids, sure
}

// Without returns found less those that spare picks and what descends from
// them.
func (t Table) Without(found []Process, spare func(Process) bool) []Process {
	spared := make(map[int]bool)
	for _, p := range found {
		if spare(p) {
			spared[p.PID] = true
		}
	}
	if len(spared) == 0 {
		return found
	}
	return slices.DeleteFunc(found, func(p Process) bool { return t.hangsFrom(p, 0, spared) })
}

// PIDs are the pids of those that live.
func PIDs(found []Process) []int {
	var pids []int
	for _, p := range found {
		if !p.Dead {
			pids = append(pids, p.PID)
		}
	}
	return pids
}
