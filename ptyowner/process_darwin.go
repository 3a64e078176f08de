package ptyowner

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// defaultExecutable is the path that this process was started from.
func defaultExecutable() (string, error) { return os.Executable() }

// becomeSubreaper: this system has no subreaper; a stop finds orphans by
// their session and process group.
func becomeSubreaper() {}

// resetIgnored: the runtime catches every signal that there is here.
func resetIgnored() {}

// processStart is not told here.
func processStart(int) string { return "" }

// remaining lists the processes of the session: those whose session or
// process group is the program's.
func (o *owner) remaining() ([]int, error) {
	all, err := unix.SysctlKinfoProcSlice("kern.proc.all")
	if err != nil {
		return nil, err
	}
	var pids []int
	for i := range all {
		pid := int(all[i].Proc.P_pid)
		if pid == os.Getpid() || all[i].Proc.P_stat == zombie {
			continue
		}
		sid, err := unix.Getsid(pid)
		if errors.Is(err, unix.ESRCH) {
			continue
		}
		if sid == o.pid || int(all[i].Eproc.Pgid) == o.pid || int(all[i].Eproc.Ppid) == os.Getpid() {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

const zombie = 5 // SZOMB of sys/proc.h

// strays: this system shows no environments; what an owner that was killed
// left behind is not found.
func strays(string) ([]int, error) { return nil, nil }

// statProgram: this system does not say which file a process executes.
func statProgram(int) (os.FileInfo, error) { return nil, errors.ErrUnsupported }
