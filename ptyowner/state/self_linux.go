package state

import (
	"fmt"
	"os"
	"syscall"
)

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
