package escapes

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// byUser and byGroup are modes of an executable that runs as its owner, or with its group.
const (
	byUser  = 0o4711
	byGroup = 0o2711
)

// rights are attempts to make a file in the workspace that gives whoever runs it the
// rights of its owner or its group.
func rights() []attempt {
	const area = "rights"
	attempts := []attempt{
		givenAt("give a file its owner's rights by a descriptor", byUser, func(_ string, fd int) error { return unix.Fchmod(fd, byUser) }),
		givenAt("give a file its group's rights by a descriptor", byGroup, func(_ string, fd int) error { return unix.Fchmod(fd, byGroup) }),
		givenAt("give a file its owner's rights", byUser, func(path string, _ int) error { return unix.Fchmodat(unix.AT_FDCWD, path, byUser, 0) }),
		givenAt("give a file its group's rights", byGroup, func(path string, _ int) error { return unix.Fchmodat(unix.AT_FDCWD, path, byGroup, 0) }),
		givenAt("give a file its owner's rights by a link to its descriptor", byUser, func(_ string, fd int) error {
			return unix.Fchmodat(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", fd), byUser, 0)
		}),
		fromLinux66(givenAt("give a file its owner's rights by fchmodat2", byUser, func(_ string, fd int) error {
			var empty byte
			_, _, errno := unix.Syscall6(unix.SYS_FCHMODAT2, uintptr(fd), uintptr(unsafe.Pointer(&empty)), byUser, unix.AT_EMPTY_PATH, 0, 0)
			switch errno {
			case 0:
				return nil
			case unix.ENOSYS:
				return errAbsent
			}
			return errno
		})),
		given("make a file with its owner's rights", byUser, func(path string) error { return closed(unix.Open(path, unix.O_CREAT|unix.O_RDWR, byUser)) }),
		given("make a file with its group's rights", byGroup, func(path string) error { return closed(unix.Open(path, unix.O_CREAT|unix.O_RDWR, byGroup)) }),
		given("make a file with its owner's rights by openat2", byUser, func(path string) error {
			return closed(unix.Openat2(unix.AT_FDCWD, path, &unix.OpenHow{Flags: unix.O_CREAT | unix.O_RDWR, Mode: byUser}))
		}),
		given("make a node with its owner's rights", byUser, func(path string) error { return unix.Mknodat(unix.AT_FDCWD, path, unix.S_IFREG|byUser, 0) }),
		{area, "make a file without a name with its owner's rights", func(s *stage) error {
			fd, err := unix.Open(s.Workspace, unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, byUser)
			if errors.Is(err, unix.EOPNOTSUPP) {
				return errAbsent
			} else if err != nil {
				return err
			}
			defer unix.Close(fd)
			return has(fd, byUser)
		}, gap{}, nobody},
	}
	return append(attempts, oldRights()...)
}

// fromLinux66 returns an attempt by a call that older kernels do not have.
func fromLinux66(a attempt) attempt {
	a.outside = nobody
	return a
}

// given returns an attempt to make a file with a mode.
func given(name string, mode uint32, give func(path string) error) attempt {
	return attempt{"rights", name, func(s *stage) error {
		path := s.in("rights")
		defer unix.Unlink(path)
		if err := give(path); err != nil {
			return err
		}
		fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		return has(fd, mode)
	}, gap{}, everyone}
}

// givenAt returns an attempt to give a mode to a file that exists, and is open.
func givenAt(name string, mode uint32, give func(path string, fd int) error) attempt {
	return given(name, mode, func(path string) error {
		fd, err := unix.Open(path, unix.O_RDWR|unix.O_CREAT|unix.O_CLOEXEC, 0o600)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		return give(path, fd)
	})
}

// has returns an error unless a file has all bits of a mode.
func has(fd int, mode uint32) error {
	var info unix.Stat_t
	if err := unix.Fstat(fd, &info); err != nil {
		return err
	}
	if info.Mode&mode&^0o777 == 0 {
		return fmt.Errorf("the mode is %o", info.Mode)
	}
	return nil
}

func closed(fd int, err error) error {
	if err == nil {
		err = unix.Close(fd)
	}
	return err
}
