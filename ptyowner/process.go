//go:build unix

package ptyowner

import (
	"cmp"
	"slices"
)

// process is one process as it was at a look. pid and start together say
// which it is: a pid is used again, a start time with it is not.
type process struct {
	pid, parent, group, session int

	start uint64 // in the system's unit, since boot or the epoch
	dead  bool   // it has ended, and nobody has waited for it
	// headless: its first thread has ended, and others run.
	headless bool
}

// processID tells a process from all others that had or will have its pid.
type processID struct {
	pid   int
	start uint64
}

func (p process) id() processID { return processID{p.pid, p.start} }

// processTable is every process of the system by pid.
type processTable map[int]process

// parentOf returns the parent of p. One that is younger than p has the pid of
// the real parent, which has ended since p was looked at.
func (t processTable) parentOf(p process) (process, bool) {
	parent, ok := t[p.parent]
	return parent, ok && parent.start <= p.start && parent.pid != p.pid
}

// torn reports whether a process was looked at before, and its parent after,
// the parent's end, so that it hangs from nothing.
func (t processTable) torn() bool {
	for _, p := range t {
		if _, ok := t.parentOf(p); !ok && p.parent != 0 {
			return true
		}
	}
	return false
}

// below returns the processes that descend from pid or are members or descend
// from one, without pid itself, in the order of their start: ancestors first.
func (t processTable) below(pid int, members map[int]bool) []process {
	var found []process
	for _, p := range t {
		if p.pid != pid && t.hangsFrom(p, pid, members) {
			found = append(found, p)
		}
	}
	slices.SortFunc(found, func(a, b process) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.pid, b.pid))
	})
	return found
}

func (t processTable) hangsFrom(p process, pid int, members map[int]bool) bool {
	for hops, ok := 0, true; ok && hops < len(t); hops++ {
		if p.pid == pid || members[p.pid] {
			return true
		}
		p, ok = t.parentOf(p)
	}
	return false
}

// without returns found less those that spare picks and what descends from
// them.
func (t processTable) without(found []process, spare func(process) bool) []process {
	spared := make(map[int]bool)
	for _, p := range found {
		if spare(p) {
			spared[p.pid] = true
		}
	}
	if len(spared) == 0 {
		return found
	}
	return slices.DeleteFunc(found, func(p process) bool { return t.hangsFrom(p, 0, spared) })
}

// pidsOf are the pids of those that live.
func pidsOf(found []process) []int {
	var pids []int
	for _, p := range found {
		if !p.dead {
			pids = append(pids, p.pid)
		}
	}
	return pids
}

// remaining lists the processes of the session that live.
func (o *owner) remaining() ([]int, error) {
	found, err := o.processes()
	return pidsOf(found), err
}

// strays lists the processes of a session without an owner, as far as they can
// be told.
func strays(d stateDir) ([]int, error) {
	found, err := strayProcesses(d)
	return pidsOf(found), err
}
