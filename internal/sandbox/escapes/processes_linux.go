package escapes

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// signalled are attempts that an ABI of Landlock with scopes for signals blocks.
var signalled = gap{landlock: 6}

// ofVictim returns an attempt to open a file of the process outside.
func ofVictim(name, file string, flags int, g gap, outside who) attempt {
	return attempt{"processes", name, func(s *stage) error { return opens(fmt.Sprintf("/proc/%d/%s", s.Victim, file), flags) }, g, outside}
}

// processes are attempts on processes outside. It is
// long because it is a table.
func processes() []attempt {
	const area = "processes"
	return []attempt{
		{area, "signal a process", func(s *stage) error { return unix.Kill(s.Victim, 0) }, signalled, everyone},
		{area, "signal a group of processes", func(s *stage) error { return unix.Kill(-s.Victim, 0) }, signalled, everyone},
		{area, "signal a thread", func(s *stage) error { return unix.Tgkill(s.Victim, s.Victim, 0) }, signalled, everyone},
		{area, "signal a process by a descriptor", func(s *stage) error {
			fd, err := unix.PidfdOpen(s.Victim, 0)
			if err != nil {
				return err
			}
			defer unix.Close(fd)
			return unix.PidfdSendSignal(fd, 0, nil, 0)
		}, signalled, everyone},
		{area, "trace a process", func(s *stage) error { return unix.PtraceSeize(s.Victim) }, gap{}, nobody},
		{area, "read the memory of a process", func(s *stage) error {
			var there, here [8]byte
			_, err := unix.ProcessVMReadv(s.Victim, []unix.Iovec{{Base: &here[0], Len: 8}},
				[]unix.RemoteIovec{{Base: uintptr(unsafe.Pointer(&there)), Len: 8}}, 0)
			if err == unix.EFAULT { // nothing is mapped there, and the call was let through
				return nil
			}
			return err
		}, gap{}, nobody},
		{area, "take a descriptor of a process", func(s *stage) error {
			fd, err := unix.PidfdOpen(s.Victim, 0)
			if err != nil {
				return err
			}
			defer unix.Close(fd)
			taken, err := unix.PidfdGetfd(fd, 0, 0)
			if err == nil {
				unix.Close(taken)
			}
			return err
		}, gap{}, nobody},
		ofVictim("open the memory of a process", "mem", unix.O_RDWR, gap{}, nobody),
		ofVictim("read the variables of a process", "environ", unix.O_RDONLY, gap{}, everyone),
		ofVictim("open a file of a process", "fd/0", unix.O_RDONLY, gap{}, everyone),
		ofVictim("list the files of a process", "fd", unix.O_RDONLY|unix.O_DIRECTORY, onLandlock, everyone),
		ofVictim("give a process to the kernel to kill first", "oom_score_adj", unix.O_WRONLY, gap{}, everyone),
		ofVictim("read the command line of a process", "cmdline", unix.O_RDONLY, onLandlock, everyone),
		{area, "change the priority of a process", func(s *stage) error { return unix.Setpriority(unix.PRIO_PROCESS, s.Victim, 19) }, onLandlock, everyone},
		{area, "change the processors of a process", func(s *stage) error {
			var set unix.CPUSet
			if err := unix.SchedGetaffinity(s.Victim, &set); err != nil {
				return err
			}
			return unix.SchedSetaffinity(s.Victim, &set)
		}, onLandlock, everyone},
		{area, "change the limits of a process", func(s *stage) error {
			var l unix.Rlimit
			if err := unix.Prlimit(s.Victim, unix.RLIMIT_CORE, nil, &l); err != nil {
				return err
			}
			return unix.Prlimit(s.Victim, unix.RLIMIT_CORE, &l, nil)
		}, onLandlock, everyone},
		{area, "enter the namespaces of a process", func(s *stage) error {
			if fd, err := unix.Open(fmt.Sprintf("/proc/%d/ns/mnt", s.Victim), unix.O_RDONLY|unix.O_CLOEXEC, 0); err == nil {
				defer unix.Close(fd)
			}
			return calls(unix.SYS_SETNS, ^uintptr(0), 0)
		}, gap{}, everyone},
		{area, "get privileges from a program", func(*stage) error {
			set, err := unix.PrctlRetInt(unix.PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0)
			if err == nil && set == 1 {
				err = unix.EPERM
			}
			return err
		}, gap{}, everyone},
		{area, "have capabilities", func(*stage) error { return isZero("CapEff") }, gap{}, root},
		{area, "have the system's handler of crashes run", func(*stage) error {
			l := unix.Rlimit{Cur: unix.RLIM_INFINITY, Max: unix.RLIM_INFINITY}
			_ = unix.Setrlimit(unix.RLIMIT_CORE, &l)
			err := unix.Getrlimit(unix.RLIMIT_CORE, &l)
			if err == nil && l.Max == 1 {
				err = unix.EPERM
			}
			return err
		}, gap{}, everyone},
	}
}

// isZero returns an error if a line of hexadecimal in /proc/self/status is 0.
func isZero(name string) error {
	value, err := statusOf(name)
	if err == nil && strings.Trim(value, "0") == "" {
		err = unix.EPERM
	}
	return err
}

// kernel are attempts to change the system, or to get at more of the kernel. It is
// long because it is a table.
func kernel() []attempt {
	const area = "kernel"
	writes := func(name string, outside who, paths ...string) attempt {
		return attempt{area, name, func(*stage) error {
			if path := sought(paths...); path != "" {
				return opens(path, unix.O_WRONLY)
			}
			return errAbsent
		}, gap{}, outside}
	}
	call := func(name string, outside who, number uintptr, args ...uintptr) attempt {
		return attempt{area, name, func(*stage) error { return calls(number, args...) }, gap{}, outside}
	}
	const minus = ^uintptr(0)
	return []attempt{
		writes("change the handler of crashes", root, "/proc/sys/kernel/core_pattern"),
		writes("change a setting of memory", root, "/proc/sys/vm/drop_caches"),
		writes("change a setting of the network", nobody, "/proc/sys/net/ipv4/ip_forward"),
		writes("register a format of programs", nobody, "/proc/sys/fs/binfmt_misc/register"),
		writes("give orders to the kernel", nobody, "/proc/sysrq-trigger"),
		writes("move interrupts", nobody, "/proc/irq/default_smp_affinity"),
		writes("change a setting in /sys", root, "/sys/kernel/mm/ksm/run", "/sys/kernel/profiling", "/sys/kernel/rcu_expedited"),
		writes("change the handler of devices", nobody, "/sys/kernel/uevent_helper"),
		writes("send the system to sleep", nobody, "/sys/power/state"),
		writes("change a control group", nobody, "/sys/fs/cgroup/cgroup.procs", "/sys/fs/cgroup/unified/cgroup.procs"),
		writes("write to the kernel's log", nobody, "/dev/kmsg"),
		{area, "read the kernel's memory", func(*stage) error { return opens("/proc/kcore", unix.O_RDONLY) }, gap{}, nobody},
		{area, "debug the kernel", func(*stage) error {
			entries, err := os.ReadDir("/sys/kernel/debug")
			if err == nil && len(entries) == 0 {
				err = unix.ENOENT
			}
			return err
		}, onLandlock, nobody},
		{area, "read a disk", func(*stage) error { return opens("/dev/"+disk(), unix.O_RDONLY) }, gap{}, nobody},
		{area, "make a disk", func(s *stage) error {
			var info unix.Stat_t
			device := uint64(unix.Mkdev(8, 0))
			if unix.Stat("/dev/"+disk(), &info) == nil {
				device = uint64(info.Rdev)
			}
			return first(func() error { return unix.Mknod(s.in("disk"), unix.S_IFBLK|0o600, int(device)) },
				func() error { return opens(s.in("disk"), unix.O_RDONLY) })
		}, gap{}, nobody},
		{area, "make a device", func(s *stage) error {
			return first(func() error { return unix.Mknod(s.in("device"), unix.S_IFCHR|0o600, int(unix.Mkdev(1, 11))) },
				func() error { return opens(s.in("device"), unix.O_WRONLY) })
		}, gap{}, nobody},
		{area, "make a network interface", func(*stage) error { return opens("/dev/net/tun", unix.O_RDWR) }, gap{}, nobody},
		{area, "make a file system", func(*stage) error { return opens("/dev/fuse", unix.O_RDWR) }, gap{}, nobody},
		{area, "mount", func(s *stage) error {
			return first(func() error { return unix.Mount("none", s.dir(), "tmpfs", 0, "") }, func() error { return unix.Unmount(s.dir(), 0) })
		}, gap{}, root},
		{area, "make a mount writable", func(s *stage) error {
			return unix.Mount("none", s.Base, "", unix.MS_REMOUNT|unix.MS_BIND, "")
		}, gap{}, nobody},
		call("mount by the new calls", root, unix.SYS_FSOPEN),
		call("copy a mount", everyone, unix.SYS_OPEN_TREE, minus),
		call("copy a mount with other attributes", nobody, unix.SYS_OPEN_TREE_ATTR, minus),
		call("change quotas", nobody, unix.SYS_QUOTACTL_FD, minus),
		{area, "change the root directory", func(*stage) error { return unix.Chroot("/") }, gap{}, root},
		{area, "make a user namespace by clone", func(*stage) error {
			cmd := exec.Command("/proc/self/exe", Command, wait)
			cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER}
			return cmd.Run()
		}, gap{}, nobody},
		call("make a user namespace by unshare", everyone, unix.SYS_UNSHARE, unix.CLONE_NEWUSER),
		call("make a user namespace by clone3", everyone, unix.SYS_CLONE3),
		call("load a program into the kernel", root, unix.SYS_BPF, 0),
		call("measure other programs", root, unix.SYS_PERF_EVENT_OPEN),
		call("queue calls past the filter", everyone, unix.SYS_IO_URING_SETUP),
		call("stop the kernel at a page", nobody, unix.SYS_USERFAULTFD, minus),
		call("read the user's keys", everyone, unix.SYS_KEYCTL, unix.KEYCTL_GET_KEYRING_ID, ^uintptr(3), 0),
		call("add a key", everyone, unix.SYS_ADD_KEY),
		call("ask for a key", everyone, unix.SYS_REQUEST_KEY),
		call("load a module", nobody, unix.SYS_INIT_MODULE),
		call("load a kernel", nobody, unix.SYS_KEXEC_LOAD, 0, ^uintptr(0)),
		call("restart the system", root, unix.SYS_REBOOT), // without the numbers that make it do so
		call("take away swap", root, unix.SYS_SWAPOFF),
		call("read the kernel's log", root, unix.SYS_SYSLOG, 10),
		call("watch all files", root, unix.SYS_FANOTIFY_INIT, minus),
		{area, "rename the system", func(*stage) error {
			name, err := os.Hostname()
			if err != nil {
				return err
			}
			return unix.Sethostname([]byte(name))
		}, gap{}, root},
	}
}

// disk returns the name of a disk or a partition.
func disk() string {
	f, err := os.Open("/proc/partitions")
	if err != nil {
		return "sda"
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if words := strings.Fields(lines.Text()); len(words) == 4 && words[0] != "major" {
			return words[3]
		}
	}
	return "sda"
}
