//go:build unix

package server

import (
	"math"
	"syscall"
)

// maxFiles returns how many file descriptors this process may have. The Go
// runtime raised that to the hard limit when the process started.
func maxFiles() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 1024 // the smallest limit that is common
	}
	return int(min(limit.Cur, math.MaxInt32))
}
