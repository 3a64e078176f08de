package ptyowner

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"

	"middleman/internal/cgroup"
	"middleman/internal/proc"
)

// strayProcesses lists the processes of a session without an owner: those that
// have its id in their environment (proc_pid_environ(5)), which they
// inherited, or its scope as cgroup, and what descends from them. Those that
// have ended, the caller, and the owners of other sessions are left out. sure is
// false where there may be one more, that shows no environment yet.
func (d stateDir) strayProcesses() (found []proc.Process, sure bool, err error) {
	t, err := proc.All()
	if err != nil {
		return nil, true, err
	}
	self := os.Getpid()
	last, _ := d.readRecord() // without one no owner was there
	// The last owner is in the scope until it has ended.
	spare := func(p proc.Process) bool { return p.Dead || p.PID == self || last.isOf(p) }
	members, sure := t.WithEnv("MIDDLEMAN_SESSION="+d.id, spare)
	if d.hasScope() {
		for pid, p := range t {
			if !spare(p) && cgroup.InScope(pid, d.id) {
				members[pid] = true
			}
		}
	}
	found = t.Below(0, members)
	return t.Without(found, func(p proc.Process) bool { return p.Dead || p.PID == self || d.isOtherOwner(p) }), sure, nil
}

// hasScope reports whether the session's processes are in its scope. Another
// host has them elsewhere, and what its owner has started may be everybody's.
func (d stateDir) hasScope() bool { return d.hostName() == "" }

// isOtherOwner reports whether p owns a session whose state directory is
// beside d: its arguments name one, and the record there names p.
func (d stateDir) isOtherOwner(p proc.Process) bool {
	if p.PID != p.Session || p.Dead {
		return false // an owner leads a session
	}
	cmdline, err := os.ReadFile("/proc/" + strconv.Itoa(p.PID) + "/cmdline")
	if err != nil {
		return false
	}
	for arg := range bytes.SplitSeq(cmdline, []byte{0}) {
		other := stateDir{id: filepath.Base(string(arg)), path: string(arg)}
		if other.path == d.path || filepath.Dir(other.path) != filepath.Dir(d.path) {
			continue
		}
		r, err := other.readRecord()
		return err == nil && r.isOf(p)
	}
	return false
}

// isOf reports whether p is the owner that wrote the record.
func (r record) isOf(p proc.Process) bool {
	return r.OwnerPID == p.PID && r.OwnerStart == strconv.FormatUint(p.Start, 10)
}
