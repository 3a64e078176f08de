package workspace

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// cloneFile makes the empty file to share the blocks of from
// (ioctl_ficlone(2)). On an error it changes nothing.
func cloneFile(to, from *os.File) error { return unix.IoctlFileClone(int(to.Fd()), int(from.Fd())) }

// nextData returns where the next data of a file begin and end that are not before offset
// (lseek(2)). Where there are none any more, both are size.
func nextData(f *os.File, offset, size int64) (start, end int64) {
	start, err := f.Seek(offset, unix.SEEK_DATA)
	switch {
	case errors.Is(err, unix.ENXIO):
		return size, size
	case err != nil: // the file system does not know
		return offset, size
	}
	if end, err = f.Seek(start, unix.SEEK_HOLE); err != nil {
		end = size
	}
	return min(start, size), min(end, size)
}

// allocated returns how many bytes of the disk a file has.
func allocated(f *os.File, size int64) int64 {
	var info unix.Stat_t
	if unix.Fstat(int(f.Fd()), &info) != nil {
		return size
	}
	return min(info.Blocks*512, size)
}
