package dirid

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// Of returns the identity of the directory at path, "" if that is not to be had, or if
// path is no directory. A link is none.
func Of(path string) string {
	var info unix.Statx_t
	const want = unix.STATX_TYPE | unix.STATX_INO | unix.STATX_BTIME
	err := unix.Statx(unix.AT_FDCWD, path, unix.AT_SYMLINK_NOFOLLOW, want, &info)
	if err != nil || info.Mask&want != want || info.Mode&unix.S_IFMT != unix.S_IFDIR {
		return ""
	}
	return fmt.Sprint(info.Dev_major, info.Dev_minor, info.Ino, info.Btime.Sec, info.Btime.Nsec)
}
