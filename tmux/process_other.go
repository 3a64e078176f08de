//go:build unix && !linux

package tmux

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// setsid gives a process a session of its own.
func setsid() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// foregroundOf is the foreground process group of a process's terminal, 0
// where there is none.
func foregroundOf(pid int) int {
	k, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil || k.Eproc.Tpgid < 0 {
		return 0
	}
	return int(k.Eproc.Tpgid)
}

// parentOf is a process's parent, 0 where that cannot be told.
func parentOf(pid int) int {
	k, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return 0
	}
	return int(k.Eproc.Ppid)
}
