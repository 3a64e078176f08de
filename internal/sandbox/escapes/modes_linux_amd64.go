package escapes

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// oldRights are such attempts by calls that newer architectures do not have.
func oldRights() []attempt {
	call := func(number uintptr, args ...uintptr) func(path string) error {
		return func(path string) error {
			name, err := unix.BytePtrFromString(path)
			if err != nil {
				return err
			}
			var rest [2]uintptr
			copy(rest[:], args)
			fd, _, errno := unix.Syscall(number, uintptr(unsafe.Pointer(name)), rest[0], rest[1])
			switch {
			case errno != 0:
				return errno
			case number == unix.SYS_OPEN || number == unix.SYS_CREAT:
				return unix.Close(int(fd))
			}
			return nil
		}
	}
	chmod := call(unix.SYS_CHMOD, byUser)
	return []attempt{
		givenAt("give a file its owner's rights by the old call", byUser, func(path string, _ int) error { return chmod(path) }),
		given("make a file with its owner's rights by the old call", byUser, call(unix.SYS_OPEN, unix.O_CREAT|unix.O_RDWR, byUser)),
		given("make a file with its owner's rights by the oldest call", byUser, call(unix.SYS_CREAT, byUser)),
		given("make a node with its owner's rights by the old call", byUser, call(unix.SYS_MKNOD, unix.S_IFREG|byUser, 0)),
	}
}
