package confine

import (
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// exchange exchanges two names in a directory, in one step.
func exchange(root *os.Root, one, other string) error {
	dir, err := root.Open(".")
	if err != nil {
		return err
	}
	defer dir.Close()
	fd := int(dir.Fd())
	return unix.Renameat2(fd, one, fd, other, unix.RENAME_EXCHANGE)
}

// hasOneName reports whether a file has no hard links.
func hasOneName(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && stat.Nlink == 1
}
