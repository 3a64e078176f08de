package proc

import (
	"strconv"

	"golang.org/x/sys/windows"
)

// StartOf returns when a process was created, in units of 100 ns, or "" if no such
// process runs or this one may not look at it. No two processes have the same pid
// and creation time. A process that has ended keeps its pid while anybody holds a
// handle of it: it does not run.
func StartOf(pid int) string {
	process, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION|windows.SYNCHRONIZE, false, uint32(pid))
	if err != nil {
		return ""
	}
	defer windows.CloseHandle(process)
	if waited, err := windows.WaitForSingleObject(process, 0); err != nil || waited != uint32(windows.WAIT_TIMEOUT) {
		return ""
	}
	var created, ended, kernel, user windows.Filetime
	if err := windows.GetProcessTimes(process, &created, &ended, &kernel, &user); err != nil {
		return ""
	}
	return strconv.FormatUint(uint64(created.HighDateTime)<<32|uint64(created.LowDateTime), 10)
}

// Runs returns "": a console has no process groups.
func Runs(int) string { return "" }
