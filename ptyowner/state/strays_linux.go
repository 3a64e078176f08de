package state

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"

	"middleman/internal/cgroup"
	"middleman/internal/proc"
	"middleman/internal/sandbox/life"
	"middleman/terminal"
)

// StrayProcesses lists the processes of a session without an owner: those with
// the session's id in their environment (proc_pid_environ(5)), those in its
// scope's cgroup, all in its sandbox under bubblewrap, and all descendants of these.
// It leaves out processes that have ended, the caller, and the owners of other
// sessions. sure is false if one more process may exist that shows no environment yet.
// The error is a *terminal.LeftoverError if something in the sandbox lives and nothing
// is found.
func (d Dir) StrayProcesses() (found []proc.Process, sure bool, err error) {
	first, firstErr := life.First(d.Path)
	t, err := proc.All()
	if err != nil {
		return nil, true, err
	}
	// The lock is held after the look at all processes: so first is among them.
	inside, err := life.Held(d.Path)
	if err != nil {
		return nil, true, err
	}
	self := os.Getpid()
	last, _ := d.ReadRecord() // without a record there was no owner
	// The last owner is in the scope until it has ended.
	spare := func(p proc.Process) bool { return p.Dead || p.PID == self || last.isOf(p) }
	members, sure := t.WithEnv("MIDDLEMAN_SESSION="+d.ID, spare)
	if d.HasScope() {
		for pid, p := range t {
			if !spare(p) && cgroup.InScope(pid, d.ID) {
				members[pid] = true
			}
		}
	}
	_, known := t[first]
	if known = known && firstErr == nil; inside && known {
		members[first] = true
	}
	found = t.Below(0, members)
	if inside && !known {
		if sure = false; len(found) == 0 {
			err = &terminal.LeftoverError{Session: d.ID}
		}
	}
	return t.Without(found, func(p proc.Process) bool { return p.Dead || p.PID == self || d.IsOtherOwner(p) }), sure, err
}

// HasScope reports whether the session's processes are in its systemd scope.
// With another host than the PTY they are elsewhere, and the scope may hold
// processes of other sessions.
func (d Dir) HasScope() bool { return d.HostName() == "" }

// IsOtherOwner reports whether p is the owner of another session in the same
// directory: an argument of p is that session's state directory, whose record
// names p.
func (d Dir) IsOtherOwner(p proc.Process) bool {
	if p.PID != p.Session || p.Dead {
		return false // an owner leads a session
	}
	cmdline, err := os.ReadFile("/proc/" + strconv.Itoa(p.PID) + "/cmdline")
	if err != nil {
		return false
	}
	for arg := range bytes.SplitSeq(cmdline, []byte{0}) {
		other := Dir{ID: filepath.Base(string(arg)), Path: string(arg)}
		if other.Path == d.Path || filepath.Dir(other.Path) != filepath.Dir(d.Path) {
			continue
		}
		r, err := other.ReadRecord()
		return err == nil && r.isOf(p)
	}
	return false
}

// isOf reports whether p is the owner that wrote the record.
func (r Record) isOf(p proc.Process) bool {
	return r.OwnerPID == p.PID && r.OwnerStart == strconv.FormatUint(p.Start, 10)
}
