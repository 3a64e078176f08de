package basedir

import (
	"math"
	"os"

	"golang.org/x/sys/unix"
)

// Room returns how many bytes the disk has left where a file or directory is.
func Room(f *os.File) int64 {
	var system unix.Statfs_t
	if unix.Fstatfs(int(f.Fd()), &system) != nil || system.Blocks == 0 { // it does not know
		return math.MaxInt64
	}
	return int64(system.Bavail) * int64(system.Frsize)
}
