//go:build unix

package server

import (
	"math"
	"syscall"
)

// maxFiles is how many descriptors this process may have. The Go runtime has
// raised that to the hard limit at the start.
func maxFiles() int {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 1024 // the least that is common
	}
	return int(min(limit.Cur, math.MaxInt32))
}
