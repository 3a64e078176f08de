package ptyowner

import (
	"os"
	"time"
)

// openOwn returns the path that this process was started from.
func openOwn() (executable, error) {
	path, err := os.Executable()
	return executable{path: path}, err
}

// bootTime returns the zero time: this system's boot time is not used.
func bootTime() time.Time { return time.Time{} }
