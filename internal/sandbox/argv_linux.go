package sandbox

import (
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// facts are what bubblewrapArgv has to know of the file system.
type facts struct {
	// kind tells a directory from another file, without following a link.
	kind func(path string) kind
	// resolv is the file that /etc/resolv.conf leads to.
	resolv string
}

type kind int

const (
	missing kind = iota // missing, or a symbolic link
	file
	directory
)

// In a namespace of its own, root's files in /proc and /sys are still root's. So
// what the kernel lets their owner change is read-only, and what tells of the
// kernel's memory is taken away.
var (
	procReadOnly = []string{"/proc/sys", "/proc/irq", "/proc/bus", "/proc/fs", "/proc/driver", "/proc/acpi", "/proc/asound",
		"/proc/scsi", "/proc/tty", "/proc/mtrr", "/proc/pressure"}
	procHidden = []string{"/proc/kcore", "/proc/kmsg", "/proc/kallsyms", "/proc/keys", "/proc/key-users", "/proc/sysrq-trigger",
		"/proc/timer_list", "/proc/sched_debug", "/proc/latency_stats", "/proc/kpagecount", "/proc/kpagecgroup",
		"/proc/kpageflags", "/proc/vmallocinfo", "/proc/slabinfo", "/proc/pagetypeinfo", "/proc/iomem", "/proc/ioports"}
	sysHidden = []string{"/sys/firmware", "/sys/kernel/debug", "/sys/kernel/tracing", "/sys/kernel/security", "/sys/fs/bpf",
		"/sys/fs/fuse", "/sys/fs/pstore", "/sys/module/configfs"}
	// runShown are parts of /run that programs need and that no socket is in.
	runShown = []string{"/run/current-system", "/run/booted-system", "/run/opengl-driver", "/run/systemd/resolve/resolv.conf",
		"/run/systemd/resolve/stub-resolv.conf"}
)

// rule is what becomes of a path and of all below it, up to the next rule. Of two
// rules for one path the later in this order is made.
type rule int

const (
	asRoot rule = iota // what the root is: shown read-only
	emptied
	temporary
	hidden
	shown
	writable
)

type ruled struct {
	path string
	rule rule
}

// bubblewrapArgv returns the arguments of bwrap that enforce p, up to "--". Every
// path of p exists and has no link in it. filter is the descriptor of the seccomp
// filter, 0 for none.
func bubblewrapArgv(p Policy, f facts, filter int) []string {
	argv := []string{
		"--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try", "--cap-drop", "ALL",
		"--ro-bind", "/", "/", "--dev", "/dev", "--tmpfs", "/dev/shm", "--proc", "/proc",
	}
	if p.Network.Off || len(p.Network.Allow) > 0 {
		argv = append(argv, "--unshare-net")
	}
	for _, path := range procReadOnly {
		if f.kind(path) != missing {
			argv = append(argv, "--ro-bind", path, path)
		}
	}
	var sealed []string // become read-only when all mount points below them are made
	hide := func(path string) {
		switch f.kind(path) {
		case directory:
			argv = append(argv, "--tmpfs", path)
			sealed = append(sealed, path)
		case file: // a device, which a mount without devices lets nobody open
			argv = append(argv, "--ro-bind", "/dev/null", path)
		}
	}
	for _, path := range slices.Concat(procHidden, sysHidden) {
		hide(path)
	}
	for _, r := range rules(p, f) {
		switch r.rule {
		case emptied, hidden:
			hide(r.path)
		case temporary:
			argv = append(argv, "--bind", p.Temp, r.path)
		case shown:
			argv = append(argv, "--ro-bind", r.path, r.path)
		case writable:
			argv = append(argv, "--bind", r.path, r.path)
		}
	}
	for _, b := range p.Binds {
		argv = append(argv, bindFlag(b.Write), b.From, b.To)
	}
	for _, path := range p.ReadOnly {
		argv = append(argv, "--ro-bind", p.source(path), path)
	}
	for _, path := range sealed {
		argv = append(argv, "--remount-ro", path)
	}
	argv = append(argv, "--chdir", p.Dir)
	if filter > 0 {
		argv = append(argv, "--seccomp", strconv.Itoa(filter))
	}
	return argv
}

func bindFlag(write bool) string {
	if write {
		return "--bind"
	}
	return "--ro-bind"
}

// source returns where the file is outside that the program sees at path.
func (p Policy) source(path string) string {
	for _, b := range slices.Backward(p.Binds) {
		if within(path, b.To) {
			return filepath.Join(b.From, strings.TrimPrefix(path, b.To))
		}
	}
	return path
}

// rules returns what becomes of which path, a directory before what is below it. A
// rule that changes nothing is left out: a path in a writable directory is not bound
// again, because the program could have put a link there.
func rules(p Policy, f facts) []ruled {
	all := []ruled{{"/run", emptied}}
	if f.kind("/var/run") == directory {
		all = append(all, ruled{"/var/run", emptied})
	}
	for _, path := range append([]string{"/tmp", "/var/tmp"}, p.TempPaths...) {
		if f.kind(path) == directory {
			all = append(all, ruled{path, temporary})
		}
	}
	add := func(r rule, paths ...string) {
		for _, path := range paths {
			if f.kind(path) != missing {
				all = append(all, ruled{path, r})
			}
		}
	}
	add(hidden, p.Hidden...)
	add(shown, runShown...)
	if within(f.resolv, "/run") {
		add(shown, f.resolv)
	}
	add(shown, p.Show...)
	add(writable, p.Writable...)
	sort.SliceStable(all, func(i, j int) bool {
		return all[i].path < all[j].path || all[i].path == all[j].path && all[i].rule > all[j].rule
	})
	var kept []ruled
	for i, r := range all {
		if i > 0 && all[i-1].path == r.path {
			continue // a later rule for the path came first
		}
		around := asRoot
		for _, outer := range slices.Backward(kept) {
			if below(r.path, outer.path) {
				around = outer.rule
				break
			}
		}
		gone := around == emptied || around == temporary || around == hidden
		if r.rule == around || r.rule == hidden && gone || r.rule == shown && around == asRoot {
			continue
		}
		kept = append(kept, r)
	}
	return kept
}
