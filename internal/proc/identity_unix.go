//go:build unix

package proc

import "strconv"

// StartOf returns when a process started, in the system's unit, or "" if no such
// process runs. No two processes have the same pid and start.
func StartOf(pid int) string {
	p, ok := Find(pid)
	if !ok {
		return ""
	}
	return strconv.FormatUint(p.Start, 10)
}
