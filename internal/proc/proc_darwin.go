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

// All looks at every process.
func All() (Table, error) {
	all, err := unix.SysctlKinfoProcSlice("kern.proc.all")
	if err != nil {
		return nil, err
	}
	t := make(Table, len(all))
	for i := range all {
		p := processOf(&all[i])
		session, err := unix.Getsid(p.PID)
		if errors.Is(err, unix.ESRCH) && !p.Dead {
			continue
		}
		p.Session = session
		t[p.PID] = p
	}
	return t, nil
}

// Find looks at one process.
func Find(pid int) (p Process, ok bool) {
	k, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return p, false
	}
	p = processOf(k)
	p.Session, err = unix.Getsid(pid)
	return p, err == nil
}

// HasEnv is always false: this system shows no environments.
func HasEnv(Process, string) (has, sure bool) { return false, true }

// Signal sends sig to p, or returns ESRCH where p has ended, as its start time
// tells.
func Signal(p Process, sig unix.Signal) error {
	if now, ok := Find(p.PID); !ok || now.ID() != p.ID() {
		return unix.ESRCH
	}
	return unix.Kill(p.PID, sig)
}

// StopGroup does nothing: this system cannot do it to the group of one very
// process.
func StopGroup(Process) {}

// ChildEnded is not told here.
func ChildEnded() bool { return false }
