package tmux

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"syscall"
)

// setsid gives a process a session of its own.
func setsid() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// foregroundOf is the foreground process group of a process's terminal, 0
// where there is none.
func foregroundOf(pid int) int { return max(0, statField(pid, 8)) }

// parentOf is a process's parent, 0 where that cannot be told.
func parentOf(pid int) int { return max(0, statField(pid, 4)) }

// statField is a number of proc_pid_stat(5), by its place from the fourth on.
func statField(pid, place int) int {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	fields := bytes.Fields(data[bytes.LastIndexByte(data, ')')+1:]) // from the third
	if len(fields) <= place-3 {
		return 0
	}
	n, err := strconv.Atoi(string(fields[place-3]))
	if err != nil {
		return 0
	}
	return n
}
