package egress

import (
	"encoding/binary"
	"fmt"
	"os"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"middleman/internal/ipc"
)

// backlog is how many connections wait to be accepted.
const backlog = 128

// opening is one socket to open: the arguments of its system calls, made before the
// child process that makes these calls. That has no Go runtime.
type opening struct {
	kind int
	addr unix.RawSockaddrInet4
	fd   int // where the socket is wanted; reserved
}

// openIn opens sockets in the network namespace of a sandbox. The caller closes them.
//
// Only a process of one thread may enter a user namespace, and every Go process has
// several. So this forks a child that shares the table of descriptors, does nothing
// but the system calls of open, and ends. The namespaces grant it what it needs,
// because this process's user made them: to listen below port 1024 and to give the
// loopback interface an address.
func openIn(netns int, sockets []socket) (fds []int, err error) {
	userns, err := unix.IoctlRetInt(netns, unix.NS_GET_USERNS)
	if err != nil {
		return nil, fmt.Errorf("find the user namespace of the sandbox: %w", err)
	}
	defer unix.Close(userns)
	defer func() {
		if err != nil {
			ipc.CloseFiles(fds)
			fds = nil
		}
	}()
	list := make([]opening, len(sockets))
	for i, s := range sockets {
		fd, err := unix.Open(os.DevNull, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			return fds, err
		}
		fds = append(fds, fd)
		kind := unix.SOCK_STREAM
		if s.Network == "udp" {
			kind = unix.SOCK_DGRAM
		}
		list[i] = opening{kind: kind, fd: fd, addr: sockaddr(s.Address.Addr().As4(), s.Address.Port())}
	}
	request, err := unix.NewIfreq("lo:1")
	if err != nil {
		return fds, err
	}
	own := firstAddress.As4()
	if err := request.SetInet4Addr(own[:]); err != nil {
		return fds, err
	}
	step, errno, err := forkOpen(userns, netns, list, unsafe.Pointer(request))
	switch {
	case err != nil:
		return fds, err
	case errno == 0:
		return fds, nil
	case step < len(sockets):
		return fds, fmt.Errorf("listen on %s %s in the sandbox: %w", sockets[step].Network, sockets[step].Address, errno)
	}
	return fds, fmt.Errorf("enter the namespaces of the sandbox: %w", errno)
}

func sockaddr(addr [4]byte, port uint16) unix.RawSockaddrInet4 {
	a := unix.RawSockaddrInet4{Family: unix.AF_INET, Addr: addr}
	binary.BigEndian.PutUint16((*[2]byte)(unsafe.Pointer(&a.Port))[:], port)
	return a
}

// forkOpen runs open in a child process. The step that failed is the index in list,
// or one that list does not have; errno is why.
func forkOpen(userns, netns int, list []opening, request unsafe.Pointer) (step int, errno syscall.Errno, err error) {
	result := make([]int, 2)
	if err := unix.Pipe2(result, unix.O_CLOEXEC); err != nil {
		return 0, 0, err
	}
	defer ipc.CloseFiles(result)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var all, before unix.Sigset_t
	for i := range all.Val {
		all.Val[i] = ^all.Val[i]
	}
	// No handler of the Go runtime may run in the child.
	if err := unix.PthreadSigmask(unix.SIG_SETMASK, &all, &before); err != nil {
		return 0, 0, err
	}
	pid := cloneOpen(userns, netns, list, request, result[1])
	if err := unix.PthreadSigmask(unix.SIG_SETMASK, &before, nil); err != nil {
		return 0, 0, err
	}
	if pid < 0 {
		return 0, 0, fmt.Errorf("start a process that enters the sandbox: %w", syscall.Errno(-pid))
	}
	for {
		_, err := unix.Wait4(pid, nil, 0, nil)
		if err != unix.EINTR {
			break // ECHILD too: then it has ended
		}
	}
	var told [2]int32
	raw := (*[8]byte)(unsafe.Pointer(&told))[:]
	if err := unix.SetNonblock(result[0], true); err != nil {
		return 0, 0, err
	}
	if n, err := unix.Read(result[0], raw); n != len(raw) {
		return 0, 0, fmt.Errorf("the process that entered the sandbox said nothing: %w", err)
	}
	return int(told[0]), syscall.Errno(told[1]), nil
}

// cloneOpen makes the child, which never returns. It returns its process id, or an
// error number below 0.
//
//go:norace
//go:nosplit
//go:noinline
func cloneOpen(userns, netns int, list []opening, request unsafe.Pointer, result int) int {
	pid, _, errno := unix.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD)|unix.CLONE_FILES, 0, 0, 0, 0, 0)
	if errno != 0 {
		return -int(errno)
	}
	if pid != 0 {
		return int(pid)
	}
	var told [2]int32
	step, failed := open(userns, netns, list, request)
	told[0], told[1] = int32(step), int32(failed)
	unix.RawSyscall(unix.SYS_WRITE, uintptr(result), uintptr(unsafe.Pointer(&told)), unsafe.Sizeof(told))
	for {
		unix.RawSyscall(unix.SYS_EXIT_GROUP, 0, 0, 0)
	}
}

// open enters the namespaces and opens the sockets. It runs in the child: it may not
// allocate, lock, or grow its stack. The address of its own on the loopback interface
// makes the C library believe in IPv4 where a program asks for the families that the
// machine has (AI_ADDRCONFIG).
//
//go:norace
//go:nosplit
func open(userns, netns int, list []opening, request unsafe.Pointer) (step int, errno syscall.Errno) {
	if _, _, errno := unix.RawSyscall(unix.SYS_SETNS, uintptr(userns), unix.CLONE_NEWUSER, 0); errno != 0 {
		return len(list), errno
	}
	if _, _, errno := unix.RawSyscall(unix.SYS_SETNS, uintptr(netns), unix.CLONE_NEWNET, 0); errno != 0 {
		return len(list), errno
	}
	for i := 0; i < len(list); i++ {
		o := &list[i]
		fd, _, errno := unix.RawSyscall(unix.SYS_SOCKET, unix.AF_INET, uintptr(o.kind)|unix.SOCK_CLOEXEC, 0)
		if errno != 0 {
			return i, errno
		}
		if i == 0 {
			if _, _, errno := unix.RawSyscall(unix.SYS_IOCTL, fd, unix.SIOCSIFADDR, uintptr(request)); errno != 0 {
				return len(list), errno
			}
		}
		if _, _, errno := unix.RawSyscall(unix.SYS_BIND, fd, uintptr(unsafe.Pointer(&o.addr)), unix.SizeofSockaddrInet4); errno != 0 {
			return i, errno
		}
		if o.kind == unix.SOCK_STREAM {
			if _, _, errno := unix.RawSyscall(unix.SYS_LISTEN, fd, backlog, 0); errno != 0 {
				return i, errno
			}
		}
		if _, _, errno := unix.RawSyscall(unix.SYS_DUP3, fd, uintptr(o.fd), unix.O_CLOEXEC); errno != 0 {
			return i, errno
		}
		unix.RawSyscall(unix.SYS_CLOSE, fd, 0, 0)
	}
	return 0, 0
}
