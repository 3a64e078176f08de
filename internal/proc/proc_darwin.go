package proc

import (
	"errors"

	"golang.org/x/sys/unix"
)

// BecomeSubreaper does nothing: this system has no subreaper. Orphans are found
// by their session and process group.
func BecomeSubreaper() {}

const zombie = 5 // SZOMB of sys/proc.h

func processOf(k *unix.KinfoProc) Process {
	return Process{
		PID: int(k.Proc.P_pid), Parent: int(k.Eproc.Ppid), Group: int(k.Eproc.Pgid), Foreground: max(0, int(k.Eproc.Tpgid)),
		Start: uint64(k.Proc.P_starttime.Sec)*1e6 + uint64(k.Proc.P_starttime.Usec),
		Dead:  k.Proc.P_stat == zombie,
	}
}

// All returns all processes of the system.
func All() (Table, error) {
	all, err := unix.SysctlKinfoProcSlice("kern.proc.all")
	if err != nil {
		return nil, err
	}
	t := make(Table, len(all))
	for i := range all {
		p := processOf(&all[i])
		if p.PID == 0 { // the kernel; getsid(0) tells of this process
			continue
		}
		session, err := unix.Getsid(p.PID)
		if errors.Is(err, unix.ESRCH) && !p.Dead {
			continue
		}
		p.Session = session
		t[p.PID] = p
	}
	return t, nil
}

// Find returns the process with that pid; ok is false if there is none.
func Find(pid int) (p Process, ok bool) {
	k, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return p, false
	}
	p = processOf(k)
	p.Session, err = unix.Getsid(pid)
	return p, err == nil
}

// nameOf returns what a process calls itself, "" if there is no such process.
func nameOf(pid int) string {
	k, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return ""
	}
	name := make([]byte, 0, len(k.Proc.P_comm))
	for _, c := range k.Proc.P_comm {
		if c == 0 {
			break
		}
		name = append(name, byte(c))
	}
	return string(name)
}

// programOf is nameOf: scripts are called by their interpreter's name.
func programOf(pid int) string { return nameOf(pid) }

// hasEnv returns false and sure: this system does not show environments.
func hasEnv(Process, string) (has, sure bool) { return false, true }

// signal sends sig to p. If p has ended, which it sees by the start time, the
// error is ESRCH. The pid may be reused between the check and the signal.
func signal(p Process, sig unix.Signal) error {
	if now, ok := Find(p.PID); !ok || now.identity() != p.identity() {
		return unix.ESRCH
	}
	return unix.Kill(p.PID, sig)
}

// StopGroup does nothing: this system cannot signal the process group of a process
// safely, because the group's id may be reused.
func StopGroup(Process) {}

// ChildEnded returns false: it is not known on this system.
func ChildEnded() bool { return false }
