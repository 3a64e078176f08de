package escapes

import (
	"fmt"
	"net"
	"path/filepath"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// channels are attempts to reach programs outside. It is
// long because it is a table.
func channels() []attempt {
	const area = "channels"
	dials := func(network string, address func(s *stage) string) func(s *stage) error {
		return func(s *stage) error {
			conn, err := net.Dial(network, address(s))
			if err == nil {
				conn.Close()
			}
			return err
		}
	}
	family := func(name string, domain, kind, protocol int, outside who) attempt {
		return attempt{area, name, func(*stage) error {
			fd, err := unix.Socket(domain, kind|unix.SOCK_CLOEXEC, protocol)
			if err == nil {
				unix.Close(fd)
			}
			return err
		}, gap{}, outside}
	}
	return []attempt{
		{area, "connect to a socket in a directory that is shown", func(s *stage) error { return connect(s.Socket) },
			gap{bubblewrap: always, strict: always}, everyone},
		{area, "send to a socket by a pair of others", func(s *stage) error { return sendByPair(s.Datagrams) }, gap{bubblewrap: always, strict: always}, everyone},
		{area, "connect to a socket among temporary files", func(s *stage) error { return connect(s.TempSocket) },
			gap{bubblewrap: always, strict: always}, everyone},
		{area, "connect to a socket in a hidden directory", func(s *stage) error { return connect(s.HiddenSocket) }, gap{}, everyone},
		{area, "connect to an abstract socket", dials("unix", func(s *stage) string { return s.Abstract }), gap{bubblewrap: 6}, everyone},
		{area, "connect to a server on loopback", dials("tcp", func(s *stage) string { return "127.0.0.1:" + strconv.Itoa(s.Port) }),
			gap{bubblewrap: always, landlock: always}, everyone},
		{area, "connect to the bus of the system", func(*stage) error {
			path := sought("/run/dbus/system_bus_socket", "/var/run/dbus/system_bus_socket")
			if path == "" {
				return errAbsent
			}
			return connect(path)
		}, gap{}, nobody},
		{area, "connect to docker", func(*stage) error {
			path := sought("/run/docker.sock", "/var/run/docker.sock", "/run/podman/podman.sock")
			if path == "" {
				return errAbsent
			}
			return connect(path)
		}, gap{}, nobody},
		family("reach the host of a virtual machine", unix.AF_VSOCK, unix.SOCK_STREAM, 0, nobody),
		family("send packets past the network's rules", unix.AF_PACKET, unix.SOCK_RAW, 0, root),
		family("reach devices by radio", unix.AF_BLUETOOTH, unix.SOCK_RAW, 1, nobody),
		family("use the kernel's ciphers", unix.AF_ALG, unix.SOCK_SEQPACKET, 0, nobody),
		{area, "write to shared memory", func(s *stage) error { return ifThere(s.Shared, overwrites) }, gap{}, nobody},
		{area, "read shared memory", func(s *stage) error {
			return ifThere(s.Shared, func(path string) error { return opens(path, unix.O_RDONLY) })
		}, gap{}, nobody},
		{area, "attach to System V shared memory", func(s *stage) error {
			if s.Segment < 0 {
				return errAbsent
			}
			memory, err := unix.SysvShmAttach(s.Segment, 0, 0)
			if err == nil {
				_ = unix.SysvShmDetach(memory)
			}
			return err
		}, onLandlock, nobody},
		{area, "open a message queue", func(s *stage) error {
			return ifThere(s.Queue, func(name string) error {
				fd, err := openQueue(name, unix.O_RDWR)
				if err == nil {
					unix.Close(fd)
				}
				return err
			})
		}, gap{}, nobody},
		{area, "write to another terminal", func(s *stage) error { return ifThere(s.Terminal, overwrites) }, gap{}, nobody},
		{area, "read what is typed at another terminal", func(s *stage) error {
			return ifThere(s.Terminal, func(path string) error { return opens(path, unix.O_RDONLY) })
		}, gap{}, nobody},
		{area, "type into the terminal", func(*stage) error {
			typed := byte('x')
			return onTerminal(unix.TIOCSTI, unsafe.Pointer(&typed))
		}, gap{}, nobody},
		{area, "paste into the console", func(*stage) error {
			paste := byte(3)
			return onTerminal(unix.TIOCLINUX, unsafe.Pointer(&paste))
		}, gap{}, nobody},
	}
}

// ifThere does something with a name that is not "".
func ifThere(name string, do func(string) error) error {
	if name == "" {
		return errAbsent
	}
	return do(name)
}

// connect connects to a Unix socket whose path may be too long for one.
func connect(path string) error {
	dir, err := unix.Open(filepath.Dir(path), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	conn, err := net.Dial("unix", fmt.Sprintf("/proc/self/fd/%d/%s", dir, filepath.Base(path)))
	if err == nil {
		conn.Close()
	}
	return err
}

// sendByPair sends to a Unix socket of datagrams by one that was made connected.
func sendByPair(path string) error {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(pair[0])
	defer unix.Close(pair[1])
	dir, err := unix.Open(filepath.Dir(path), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	return unix.Sendto(pair[0], []byte("escaped"), 0, &unix.SockaddrUnix{Name: fmt.Sprintf("/proc/self/fd/%d/%s", dir, filepath.Base(path))})
}

// onTerminal makes a terminal and gives it a command.
func onTerminal(command uintptr, arg unsafe.Pointer) error {
	master, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(master)
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(master), command, uintptr(arg)); errno != 0 {
		return errno
	}
	return nil
}

// openQueue opens a POSIX message queue.
func openQueue(name string, flags int) (fd int, err error) {
	raw, err := unix.BytePtrFromString(name)
	if err != nil {
		return -1, err
	}
	number, _, errno := unix.Syscall6(unix.SYS_MQ_OPEN, uintptr(unsafe.Pointer(raw)), uintptr(flags|unix.O_CLOEXEC), 0o600, 0, 0, 0)
	if errno != 0 {
		return -1, errno
	}
	return int(number), nil
}

// removeQueue removes a POSIX message queue.
func removeQueue(name string) {
	if raw, err := unix.BytePtrFromString(name); err == nil {
		_, _, _ = unix.Syscall(unix.SYS_MQ_UNLINK, uintptr(unsafe.Pointer(raw)), 0, 0)
	}
}
