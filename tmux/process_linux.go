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

// foregroundOf is the foreground process group of a process's terminal, field
// 8 of proc_pid_stat(5), 0 where there is none.
func foregroundOf(pid int) int {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	fields := bytes.Fields(data[bytes.LastIndexByte(data, ')')+1:]) // from the third
	if len(fields) < 6 {
		return 0
	}
	group, err := strconv.Atoi(string(fields[5]))
	if err != nil || group < 0 {
		return 0
	}
	return group
}
