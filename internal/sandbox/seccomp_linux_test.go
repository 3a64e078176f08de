package sandbox

import (
	"encoding/binary"
	"testing"

	"golang.org/x/sys/unix"
)

// judge runs a filter on a system call, as the kernel does, and returns what becomes
// of it.
func judge(t *testing.T, f []unix.SockFilter, arch, call uint32, args ...uint64) uint32 {
	t.Helper()
	data := make([]byte, 64)
	binary.NativeEndian.PutUint32(data[offCall:], call)
	binary.NativeEndian.PutUint32(data[offArch:], arch)
	for i, a := range args {
		binary.NativeEndian.PutUint64(data[offArgs+8*i:], a)
	}
	var a uint32
	for at := 0; at < len(f); at++ {
		i := f[at]
		holds := false
		switch i.Code {
		case unix.BPF_LD | unix.BPF_W | unix.BPF_ABS:
			a = binary.NativeEndian.Uint32(data[i.K:])
			continue
		case unix.BPF_ALU | unix.BPF_AND | unix.BPF_K:
			a &= i.K
			continue
		case unix.BPF_RET | unix.BPF_K:
			return i.K
		case unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K:
			holds = a == i.K
		case unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K:
			holds = a >= i.K
		case unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K:
			holds = a&i.K != 0
		default:
			t.Fatalf("instruction %d has code %#x", at, i.Code)
		}
		if holds {
			at += int(i.Jt)
		} else {
			at += int(i.Jf)
		}
	}
	t.Fatal("the filter has no end")
	return 0
}

func TestFilter(t *testing.T) {
	denied := func(errno unix.Errno) uint32 { return unix.SECCOMP_RET_ERRNO | uint32(errno) }
	for arch, foreign := range map[uint32]uint32{unix.AUDIT_ARCH_X86_64: 0x40000000, unix.AUDIT_ARCH_AARCH64: 0} {
		f := filterFor(arch, foreign, families)
		for _, c := range []struct {
			name string
			call uint32
			args []uint64
			want uint32
		}{
			{"read", unix.SYS_READ, nil, unix.SECCOMP_RET_ALLOW},
			{"fork", unix.SYS_CLONE, []uint64{uint64(unix.SIGCHLD)}, unix.SECCOMP_RET_ALLOW},
			{"a user namespace", unix.SYS_CLONE, []uint64{uint64(unix.SIGCHLD) | unix.CLONE_NEWUSER}, denied(unix.EPERM)},
			{"a user namespace and mounts", unix.SYS_UNSHARE, []uint64{unix.CLONE_NEWUSER | unix.CLONE_NEWNS}, denied(unix.EPERM)},
			{"files of a thread's own", unix.SYS_UNSHARE, []uint64{unix.CLONE_FILES}, unix.SECCOMP_RET_ALLOW},
			{"clone3", unix.SYS_CLONE3, nil, denied(unix.ENOSYS)},
			{"a size of the terminal", unix.SYS_IOCTL, []uint64{0, unix.TIOCGWINSZ}, unix.SECCOMP_RET_ALLOW},
			{"TIOCSTI", unix.SYS_IOCTL, []uint64{0, unix.TIOCSTI}, denied(unix.EPERM)},
			{"TIOCSTI with high bits", unix.SYS_IOCTL, []uint64{0, 1<<32 | unix.TIOCSTI}, denied(unix.EPERM)},
			{"TIOCLINUX", unix.SYS_IOCTL, []uint64{0, unix.TIOCLINUX}, denied(unix.EPERM)},
			{"keyctl", unix.SYS_KEYCTL, nil, denied(unix.EPERM)},
			{"mount", unix.SYS_MOUNT, nil, denied(unix.EPERM)},
			{"io_uring", unix.SYS_IO_URING_SETUP, nil, denied(unix.ENOSYS)},
			{"chmod by a descriptor", unix.SYS_FCHMOD, []uint64{3, 0o1777}, unix.SECCOMP_RET_ALLOW},
			{"set-user-ID by a descriptor", unix.SYS_FCHMOD, []uint64{3, 0o4755}, denied(unix.EPERM)},
			{"set-group-ID by a descriptor", unix.SYS_FCHMOD, []uint64{3, 0o2755}, denied(unix.EPERM)},
			{"the same with high bits", unix.SYS_FCHMOD, []uint64{3, 1<<32 | 0o2755}, denied(unix.EPERM)},
			{"chmod by a name", unix.SYS_FCHMODAT, []uint64{3, 0o4000, 0o755}, unix.SECCOMP_RET_ALLOW},
			{"set-user-ID by a name", unix.SYS_FCHMODAT, []uint64{3, 0, 0o4755}, denied(unix.EPERM)},
			{"set-user-ID by fchmodat2", unix.SYS_FCHMODAT2, []uint64{3, 0, 0o4755}, denied(unix.EPERM)},
			{"a named pipe", unix.SYS_MKNODAT, []uint64{3, 0, unix.S_IFIFO | 0o600}, unix.SECCOMP_RET_ALLOW},
			{"mknodat with set-user-ID", unix.SYS_MKNODAT, []uint64{3, 0, unix.S_IFREG | 0o4755}, denied(unix.EPERM)},
			{"open, whose mode does not count", unix.SYS_OPENAT, []uint64{3, 0, unix.O_RDWR | unix.O_DIRECTORY, 0o6755}, unix.SECCOMP_RET_ALLOW},
			{"a file", unix.SYS_OPENAT, []uint64{3, 0, unix.O_RDWR | unix.O_CREAT, 0o755}, unix.SECCOMP_RET_ALLOW},
			{"a file with set-user-ID", unix.SYS_OPENAT, []uint64{3, 0, unix.O_RDWR | unix.O_CREAT, 0o4755}, denied(unix.EPERM)},
			{"a file with set-group-ID", unix.SYS_OPENAT, []uint64{3, 0, unix.O_CREAT, 0o2755}, denied(unix.EPERM)},
			{"a file without a name with set-user-ID", unix.SYS_OPENAT, []uint64{3, 0, unix.O_RDWR | unix.O_TMPFILE, 0o4755}, denied(unix.EPERM)},
			{"openat2", unix.SYS_OPENAT2, nil, denied(unix.ENOSYS)},
			{"a Unix socket", unix.SYS_SOCKET, []uint64{unix.AF_UNIX}, unix.SECCOMP_RET_ALLOW},
			{"an IPv6 socket", unix.SYS_SOCKET, []uint64{unix.AF_INET6}, unix.SECCOMP_RET_ALLOW},
			{"a socket to the virtual machine's host", unix.SYS_SOCKET, []uint64{unix.AF_VSOCK}, denied(unix.EAFNOSUPPORT)},
			{"the same with high bits", unix.SYS_SOCKET, []uint64{1<<32 | unix.AF_VSOCK}, denied(unix.EAFNOSUPPORT)},
		} {
			if got := judge(t, f, arch, c.call, c.args...); got != c.want {
				t.Errorf("%#x, %s: %#x, want %#x", arch, c.name, got, c.want)
			}
		}
		if got := judge(t, f, unix.AUDIT_ARCH_I386, unix.SYS_READ); got != denied(unix.ENOSYS) {
			t.Errorf("%#x, another architecture: %#x", arch, got)
		}
		if foreign != 0 {
			if got := judge(t, f, arch, foreign|unix.SYS_IOCTL, 0, unix.TIOCSTI); got != denied(unix.ENOSYS) {
				t.Errorf("%#x, another way to call: %#x", arch, got)
			}
		}
	}
}

// Calls with a mode that x86-64 alone has. Their numbers are others elsewhere.
func TestFilterOfX86(t *testing.T) {
	const open, creat, chmod, mknod = 2, 85, 90, 133
	x86 := filterFor(unix.AUDIT_ARCH_X86_64, 0x40000000, families)
	arm := filterFor(unix.AUDIT_ARCH_AARCH64, 0, families)
	for _, c := range []struct {
		name string
		call uint32
		args []uint64
		deny bool
	}{
		{"open", open, []uint64{0, unix.O_RDONLY, 0o4755}, false},
		{"open of a new file", open, []uint64{0, unix.O_CREAT, 0o755}, false},
		{"open with set-user-ID", open, []uint64{0, unix.O_CREAT, 0o4755}, true},
		{"creat", creat, []uint64{0, 0o644}, false},
		{"creat with set-user-ID", creat, []uint64{0, 0o4755}, true},
		{"chmod", chmod, []uint64{0, 0o644}, false},
		{"chmod with set-user-ID", chmod, []uint64{0, 0o4755}, true},
		{"chmod with set-group-ID", chmod, []uint64{0, 0o2755}, true},
		{"mknod", mknod, []uint64{0, unix.S_IFREG | 0o644}, false},
		{"mknod with set-group-ID", mknod, []uint64{0, unix.S_IFREG | 0o2755}, true},
	} {
		want := uint32(unix.SECCOMP_RET_ALLOW)
		if c.deny {
			want = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
		}
		if got := judge(t, x86, unix.AUDIT_ARCH_X86_64, c.call, c.args...); got != want {
			t.Errorf("%s: %#x, want %#x", c.name, got, want)
		}
	}
	if got := judge(t, arm, unix.AUDIT_ARCH_AARCH64, creat, 0, 0o4755); got != unix.SECCOMP_RET_ALLOW {
		t.Errorf("the number of creat on another architecture: %#x", got)
	}
}

// Below ABI 9 of Landlock there are no Unix sockets, but pairs that connect to nothing
// else.
func TestFilterWithoutSockets(t *testing.T) {
	if got := socketsUnder(unixABI); len(got) != len(families) {
		t.Errorf("where the kernel refuses to connect, the kinds of sockets are %v, want %v", got, families)
	}
	denied := unix.SECCOMP_RET_ERRNO | uint32(unix.EAFNOSUPPORT)
	f := filterFor(unix.AUDIT_ARCH_X86_64, 0x40000000, socketsUnder(unixABI-1))
	for _, c := range []struct {
		name string
		call uint32
		args []uint64
		want uint32
	}{
		{"a Unix socket", unix.SYS_SOCKET, []uint64{unix.AF_UNIX, unix.SOCK_STREAM}, denied},
		{"an IPv4 socket", unix.SYS_SOCKET, []uint64{unix.AF_INET, unix.SOCK_STREAM}, unix.SECCOMP_RET_ALLOW},
		{"a pair of streams", unix.SYS_SOCKETPAIR, []uint64{unix.AF_UNIX, unix.SOCK_STREAM | unix.SOCK_CLOEXEC}, unix.SECCOMP_RET_ALLOW},
		{"a pair of packets", unix.SYS_SOCKETPAIR, []uint64{unix.AF_UNIX, unix.SOCK_SEQPACKET | unix.SOCK_NONBLOCK}, unix.SECCOMP_RET_ALLOW},
		{"a pair of datagrams", unix.SYS_SOCKETPAIR, []uint64{unix.AF_UNIX, unix.SOCK_DGRAM | unix.SOCK_CLOEXEC}, denied},
		{"the same by another name", unix.SYS_SOCKETPAIR, []uint64{unix.AF_UNIX, unix.SOCK_RAW}, denied},
		{"the same with high bits", unix.SYS_SOCKETPAIR, []uint64{unix.AF_UNIX, 1<<32 | unix.SOCK_DGRAM}, denied},
	} {
		if got := judge(t, f, unix.AUDIT_ARCH_X86_64, c.call, c.args...); got != c.want {
			t.Errorf("%s: %#x, want %#x", c.name, got, c.want)
		}
	}
}
