package ptyowner

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// openOwn returns the path that this process was started from.
func openOwn() (executable, error) {
	path, err := os.Executable()
	return executable{path: path}, err
}

// bootTime returns when the machine started, or zero if that is unknown.
func bootTime() time.Time {
	boot, err := unix.SysctlTimeval("kern.boottime")
	if err != nil {
		return time.Time{}
	}
	return time.Unix(boot.Unix())
}
