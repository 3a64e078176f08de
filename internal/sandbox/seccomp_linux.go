package sandbox

import (
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The filter lets every system call pass but those that reach out of a sandbox: they
// type into the terminal, make user namespaces (in which a program has capabilities
// again, and with them much of the kernel to attack), mount, load code into the
// kernel, read keys of the user, speak to what namespaces do not separate, or give a file
// the rights of its owner or group (set-user-ID, set-group-ID), which whoever runs it
// outside would get.
//
// A filter sees numbers, not what pointers lead to. So clone3 and openat2, whose flags and
// mode are behind a pointer, do not exist inside: programs then use clone and openat.

// refusal is a system call that does not pass.
type refusal struct {
	call  uint32
	errno unix.Errno
}

var refused = []refusal{
	{unix.SYS_CLONE3, unix.ENOSYS}, {unix.SYS_OPENAT2, unix.ENOSYS},
	{unix.SYS_SETNS, unix.EPERM},
	{unix.SYS_MOUNT, unix.EPERM}, {unix.SYS_UMOUNT2, unix.EPERM}, {unix.SYS_PIVOT_ROOT, unix.EPERM}, {unix.SYS_CHROOT, unix.EPERM},
	{unix.SYS_OPEN_TREE, unix.EPERM}, {unix.SYS_OPEN_TREE_ATTR, unix.EPERM}, {unix.SYS_MOVE_MOUNT, unix.EPERM}, {unix.SYS_FSOPEN, unix.EPERM}, {unix.SYS_FSCONFIG, unix.EPERM},
	{unix.SYS_FSMOUNT, unix.EPERM}, {unix.SYS_FSPICK, unix.EPERM}, {unix.SYS_MOUNT_SETATTR, unix.EPERM},
	{unix.SYS_SWAPON, unix.EPERM}, {unix.SYS_SWAPOFF, unix.EPERM}, {unix.SYS_REBOOT, unix.EPERM}, {unix.SYS_ACCT, unix.EPERM},
	{unix.SYS_QUOTACTL, unix.EPERM}, {unix.SYS_QUOTACTL_FD, unix.EPERM}, {unix.SYS_SETTIMEOFDAY, unix.EPERM}, {unix.SYS_CLOCK_SETTIME, unix.EPERM},
	{unix.SYS_SETHOSTNAME, unix.EPERM}, {unix.SYS_SETDOMAINNAME, unix.EPERM}, {unix.SYS_VHANGUP, unix.EPERM}, {unix.SYS_SYSLOG, unix.EPERM},
	{unix.SYS_KEXEC_LOAD, unix.EPERM}, {unix.SYS_KEXEC_FILE_LOAD, unix.EPERM},
	{unix.SYS_INIT_MODULE, unix.EPERM}, {unix.SYS_FINIT_MODULE, unix.EPERM}, {unix.SYS_DELETE_MODULE, unix.EPERM},
	{unix.SYS_BPF, unix.EPERM}, {unix.SYS_PERF_EVENT_OPEN, unix.EPERM}, {unix.SYS_USERFAULTFD, unix.EPERM},
	{unix.SYS_IO_URING_SETUP, unix.ENOSYS}, {unix.SYS_IO_URING_ENTER, unix.ENOSYS}, {unix.SYS_IO_URING_REGISTER, unix.ENOSYS},
	{unix.SYS_OPEN_BY_HANDLE_AT, unix.EPERM}, {unix.SYS_FANOTIFY_INIT, unix.EPERM}, {unix.SYS_LOOKUP_DCOOKIE, unix.EPERM},
	{unix.SYS_ADD_KEY, unix.EPERM}, {unix.SYS_REQUEST_KEY, unix.EPERM}, {unix.SYS_KEYCTL, unix.EPERM},
}

// modeCall is a system call that gives a file a mode.
type modeCall struct {
	call uint32
	mode int // which argument the mode is
	// flags is the argument with the flags of a call that opens, 0 of any other. Only if
	// these make a file does the mode count.
	flags int
}

// modeCalls are those of every architecture. mkdirat is not among them: the kernel takes
// no set-user-ID and no set-group-ID from its mode.
var modeCalls = []modeCall{
	{unix.SYS_FCHMOD, 1, 0}, {unix.SYS_FCHMODAT, 2, 0}, {unix.SYS_FCHMODAT2, 2, 0}, {unix.SYS_MKNODAT, 2, 0}, {unix.SYS_OPENAT, 3, 2},
}

// modeCallsOfX86 are those that only x86-64 has: open, creat, chmod and mknod.
var modeCallsOfX86 = []modeCall{{2, 2, 1}, {85, 1, 0}, {90, 1, 0}, {133, 1, 0}}

const (
	setID = unix.S_ISUID | unix.S_ISGID
	// makes are the flags with which a call that opens makes a file.
	makes = unix.O_CREAT | unix.O_TMPFILE&^unix.O_DIRECTORY
)

// steps returns the steps that refuse a mode with set-user-ID or set-group-ID.
func (c modeCall) steps() []unix.SockFilter {
	check := []unix.SockFilter{load(offArgs + 8*uint32(c.mode)), ifNot(unix.BPF_JSET, setID, 1), deny(unix.EPERM)}
	if c.flags != 0 {
		check = append([]unix.SockFilter{load(offArgs + 8*uint32(c.flags)), ifNot(unix.BPF_JSET, makes, len(check))}, check...)
	}
	return append(check, allow())
}

// families are the kinds of sockets that there are inside. Others, such as those to
// the host of a virtual machine, know no network namespaces.
var families = []uint32{unix.AF_UNSPEC, unix.AF_UNIX, unix.AF_INET, unix.AF_INET6, unix.AF_NETLINK}

// socketsUnder returns the kinds of sockets that there are under Landlock. A Unix
// socket is a way out: many that a user may connect to run commands for the user.
// Before ABI 9 no rule keeps a program from them.
func socketsUnder(abi int) []uint32 {
	if abi >= unixABI {
		return families
	}
	return slices.DeleteFunc(slices.Clone(families), func(family uint32) bool { return family == unix.AF_UNIX })
}

// Where the kernel puts what a filter sees (struct seccomp_data).
const (
	offCall = 0
	offArch = 4
	offArgs = 16 // 8 bytes each, the low half first
	// socketTypes are the bits of a socket's type that are no flags.
	socketTypes = 0xf
)

func load(offset uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset}
}

// ifNot skips the next n instructions unless test holds for k.
func ifNot(test uint16, k uint32, n int) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | test | unix.BPF_K, K: k, Jf: uint8(n)}
}

func allow() unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW}
}

func deny(errno unix.Errno) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(errno)}
}

// onlyBits keeps these bits of what was loaded.
func onlyBits(mask uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: mask}
}

// filterFor returns the filter for programs of one architecture, with these kinds of
// sockets. Programs of others get ENOSYS for every call. Call numbers from foreign on
// are those of another way to call; 0 means that there is none.
func filterFor(arch, foreign uint32, families []uint32) []unix.SockFilter {
	f := []unix.SockFilter{load(offArch), {Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: arch, Jt: 1}, deny(unix.ENOSYS), load(offCall)}
	if foreign != 0 {
		f = append(f, ifNot(unix.BPF_JGE, foreign, 1), deny(unix.ENOSYS))
	}
	for _, r := range refused {
		f = append(f, ifNot(unix.BPF_JEQ, r.call, 1), deny(r.errno))
	}
	call := func(number uint32, steps ...unix.SockFilter) {
		f = append(append(f, ifNot(unix.BPF_JEQ, number, len(steps))), steps...)
	}
	for _, number := range []uint32{unix.SYS_CLONE, unix.SYS_UNSHARE} {
		call(number, load(offArgs), ifNot(unix.BPF_JSET, unix.CLONE_NEWUSER, 1), deny(unix.EPERM), allow())
	}
	for _, c := range modeCalls {
		call(c.call, c.steps()...)
	}
	if arch == unix.AUDIT_ARCH_X86_64 {
		for _, c := range modeCallsOfX86 {
			call(c.call, c.steps()...)
		}
	}
	// The kernel reads 32 bits of the command.
	call(unix.SYS_IOCTL, load(offArgs+8), ifNot(unix.BPF_JEQ, unix.TIOCSTI, 1), deny(unix.EPERM),
		ifNot(unix.BPF_JEQ, unix.TIOCLINUX, 1), deny(unix.EPERM), ifNot(unix.BPF_JEQ, unix.TIOCSETD, 1), deny(unix.EPERM), allow())
	socket := []unix.SockFilter{load(offArgs)}
	for _, family := range families {
		socket = append(socket, ifNot(unix.BPF_JEQ, family, 1), allow())
	}
	call(unix.SYS_SOCKET, append(socket, deny(unix.EAFNOSUPPORT))...)
	if !slices.Contains(families, unix.AF_UNIX) {
		// A pair of these connects to nothing else. One of datagrams, by whichever of
		// its names, sends to any address.
		call(unix.SYS_SOCKETPAIR, load(offArgs+8), onlyBits(socketTypes), ifNot(unix.BPF_JEQ, unix.SOCK_STREAM, 1), allow(),
			ifNot(unix.BPF_JEQ, unix.SOCK_SEQPACKET, 1), allow(), deny(unix.EAFNOSUPPORT))
	}
	return append(f, allow())
}

// filter returns the filter of this architecture.
func filter(families []uint32) ([]unix.SockFilter, error) {
	switch runtime.GOARCH {
	case "amd64":
		return filterFor(unix.AUDIT_ARCH_X86_64, 0x40000000, families), nil
	case "arm64":
		return filterFor(unix.AUDIT_ARCH_AARCH64, 0, families), nil
	}
	return nil, fmt.Errorf("there is no filter of system calls for %s: %w", runtime.GOARCH, errors.ErrUnsupported)
}

// filterFile returns a descriptor of a file with the filter, as bwrap reads it. A
// program that is executed inherits it.
func filterFile(families []uint32) (fd int, err error) {
	f, err := filter(families)
	if err != nil {
		return -1, err
	}
	var raw []byte
	for _, step := range f {
		raw = binary.NativeEndian.AppendUint16(raw, step.Code)
		raw = append(raw, step.Jt, step.Jf)
		raw = binary.NativeEndian.AppendUint32(raw, step.K)
	}
	fd, err = unix.MemfdCreate("filter", 0)
	if err != nil {
		return -1, fmt.Errorf("make a file for the filter of system calls: %w", err)
	}
	if _, err := unix.Pwrite(fd, raw, 0); err != nil {
		unix.Close(fd)
		return -1, fmt.Errorf("write the filter of system calls: %w", err)
	}
	return fd, nil
}

// setFilter sets the filter for this thread and what it executes. The thread can get
// no new privileges.
func setFilter(families []uint32) error {
	f, err := filter(families)
	if err != nil {
		return err
	}
	program := unix.SockFprog{Len: uint16(len(f)), Filter: &f[0]}
	if _, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&program))); errno != 0 {
		return fmt.Errorf("set the filter of system calls: %w", errno)
	}
	return nil
}
