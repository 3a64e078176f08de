//go:build unix

package proc

import (
	"strconv"

	"golang.org/x/sys/unix"
)

// StartOf returns when a process started, in the system's unit, or "" if no such
// process runs. No two processes have the same pid and start.
func StartOf(pid int) string {
	p, ok := Find(pid)
	if !ok {
		return ""
	}
	return strconv.FormatUint(p.Start, 10)
}

// Signal sends sig to the process with that pid, if it is the one that StartOf named
// start; else the error is ESRCH.
func Signal(pid int, start string, sig unix.Signal) error {
	p, ok := Find(pid)
	if !ok || p.Dead || strconv.FormatUint(p.Start, 10) != start {
		return unix.ESRCH
	}
	return signal(p, sig)
}
