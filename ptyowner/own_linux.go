package ptyowner

import (
	"fmt"
	"middleman/ptyowner/state"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// openOwn opens the binary of this process, even if its file was replaced
// since. The child needs the descriptor to execute it, because this process is
// not dumpable (PR_SET_DUMPABLE): the child may not open /proc/PID/exe.
func openOwn() (executable, error) {
	file, err := os.Open("/proc/self/exe")
	return executable{path: fmt.Sprintf("/proc/self/fd/%d", state.ExecutableFD), file: file}, err
}

// bootTime returns about when the machine started, or zero if that is unknown.
func bootTime() time.Time {
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) != nil {
		return time.Time{}
	}
	return time.Now().Add(-time.Duration(info.Uptime) * time.Second)
}
