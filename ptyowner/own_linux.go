package ptyowner

import (
	"fmt"
	"middleman/ptyowner/state"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// openOwn opens this very build, also after the file was replaced. Whoever
// executes it needs the descriptor: this process is closed to others, and so is
// what names it in /proc.
func openOwn() (executable, error) {
	file, err := os.Open("/proc/self/exe")
	return executable{path: fmt.Sprintf("/proc/self/fd/%d", state.ExecutableFD), file: file}, err
}

// bootTime is when the machine started, about; zero where that is not known.
func bootTime() time.Time {
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) != nil {
		return time.Time{}
	}
	return time.Now().Add(-time.Duration(info.Uptime) * time.Second)
}
