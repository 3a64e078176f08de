//go:build unix

package proc

import (
	"cmp"
	"slices"
	"time"
)

// Youth is the age up to which a process that shows no environment may be in the
// middle of its first execve(2).
const Youth = 2 * time.Second

// Process is the state of a process when it was read. PID and Start together
// identify it: pids are reused, but not with the same start time.
type Process struct {
	PID, Parent, Group, Session int
	// Foreground is the foreground process group of its terminal, 0 if there is
	// none.
	Foreground int

	Start uint64 // start time, in the system's unit, since boot or the epoch
	Dead  bool   // it has ended, but was not waited for (a zombie)
	// Headless means that its first thread has ended while others run.
	Headless bool
	kernel   bool // it is a kernel thread
	// childFaults counts the page faults of the children that it has waited for.
	childFaults uint64
}

// identity identifies a process among all that ever have its pid.
type identity struct {
	pid   int
	start uint64
}

func (p Process) identity() identity { return identity{p.PID, p.Start} }

// Parent returns the pid of a process's parent, 0 if there is no such process.
func Parent(pid int) int {
	p, _ := Find(pid)
	return p.Parent
}

// Foreground returns the foreground process group of a process's terminal, 0 if
// there is none.
func Foreground(pid int) int {
	p, _ := Find(pid)
	return p.Foreground
}

// Runs returns the name of the program that has the foreground of a process's terminal in
// its place, as a shell's command has: "" if that is the process itself, or is not known.
// The name is what the program calls itself, or of an interpreter the script's: any bytes.
func Runs(pid int) string {
	p, ok := Find(pid)
	if !ok || p.Foreground == 0 || p.Foreground == p.Group {
		return ""
	}
	if name := programOf(p.Foreground); name != "" {
		return name
	}
	return "a program" // the first of its process group has ended
}

// WaitedFor returns a number that grows with each child that a process has waited
// for: the count of these children's page faults, at least one each. It is 0 if
// there is no such process or the system does not tell.
func WaitedFor(pid int) uint64 {
	p, _ := Find(pid)
	return p.childFaults
}

// Table has all processes of the system, by pid.
type Table map[int]Process

// parentOf returns the parent of p. If the process with the parent's pid is
// younger than p, it is not the parent: that has ended since p was read, and its
// pid was reused.
func (t Table) parentOf(p Process) (Process, bool) {
	parent, ok := t[p.Parent]
	return parent, ok && parent.Start <= p.Start && parent.PID != p.PID
}

// torn reports whether a process has no parent in the table, because its parent
// ended while the table was read.
func (t Table) torn() bool {
	for _, p := range t {
		if _, ok := t.parentOf(p); !ok && p.Parent != 0 {
			return true
		}
	}
	return false
}

// Below returns the descendants of pid, the members, and the descendants of
// members, without pid itself. They are ordered by start time, so ancestors come
// first.
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

// WithEnv returns the pids of the processes that have entry in their environment,
// except those for which spare returns true. sure is false if there may be more;
// see hasEnv.
func (t Table) WithEnv(entry string, spare func(Process) bool) (pids map[int]bool, sure bool) {
	pids, sure = make(map[int]bool), true
	for pid, p := range t {
		if spare(p) {
			continue
		}
		has, known := hasEnv(p, entry)
		if has {
			pids[pid] = true
		}
		sure = sure && known
	}
	return pids, sure
}

// Without returns found without the processes for which spare returns true, and
// without their descendants. It may overwrite found.
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

// PIDs returns the pids of the processes that are not dead.
func PIDs(found []Process) []int {
	var pids []int
	for _, p := range found {
		if !p.Dead {
			pids = append(pids, p.PID)
		}
	}
	return pids
}
