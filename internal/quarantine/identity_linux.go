package quarantine

import (
	"fmt"
	"io/fs"
	"syscall"

	"golang.org/x/sys/unix"
)

// identity tells a file from another that took its place with the same size and time.
func identity(info fs.FileInfo) string {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	return fmt.Sprint(stat.Ino, stat.Ctim)
}

// whichDirectory tells the directory at path from another that is made there later. It is
// "" if that is not to be had, or if path is no directory.
func whichDirectory(path string) string {
	var info unix.Statx_t
	const want = unix.STATX_TYPE | unix.STATX_INO | unix.STATX_BTIME
	err := unix.Statx(unix.AT_FDCWD, path, unix.AT_SYMLINK_NOFOLLOW, want, &info)
	if err != nil || info.Mask&want != want || info.Mode&unix.S_IFMT != unix.S_IFDIR {
		return ""
	}
	return fmt.Sprint(info.Dev_major, info.Dev_minor, info.Ino, info.Btime.Sec, info.Btime.Nsec)
}
