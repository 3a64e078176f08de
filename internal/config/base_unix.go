//go:build unix

package config

import (
	"os"
	"syscall"
)

// shortBase returns the directory that holds the directories for sockets which
// are too long elsewhere. It is not $TMPDIR: processes that have different ones
// must find each other.
func shortBase() string { return "/tmp" }

// taken reports whether there is something at path that is not a directory of this user.
func taken(path string) bool {
	info, err := os.Lstat(path)
	if err != nil {
		return false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	return !info.IsDir() || !ok || int(stat.Uid) != os.Geteuid()
}
