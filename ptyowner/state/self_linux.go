package state

import (
	"fmt"
	"os"
	"strconv"
	"syscall"

	"middleman/internal/proc"
)

// processStart returns when a process started, in clock ticks since boot (field
// 22 of proc_pid_stat(5)), or "" if there is no such process.
func processStart(pid int) string {
	p, ok := proc.Find(pid)
	if !ok {
		return ""
	}
	return strconv.FormatUint(p.Start, 10)
}

// runningImage identifies the file that this process executes; see imageOf.
func runningImage() string {
	info, err := os.Stat("/proc/self/exe")
	if err != nil {
		return ""
	}
	return imageOf(info)
}

// imageOf returns the device and inode of a file. No other file has them while
// a process executes that file.
func imageOf(info os.FileInfo) string {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	return fmt.Sprintf("%d:%d", stat.Dev, stat.Ino)
}

// statProgram returns the FileInfo of the file that a process executes.
func statProgram(pid int) (os.FileInfo, error) {
	return os.Stat(fmt.Sprintf("/proc/%d/exe", pid))
}
