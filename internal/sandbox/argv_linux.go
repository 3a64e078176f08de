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
	// root says that this user is root.
	root bool
}

type kind int

const (
	missing kind = iota // missing, or a symbolic link
	file
	directory
)

// In a namespace of its own, root's files in /proc and /sys are still root's, and
// what the kernel lets their owner do needs no capability. So for root they are
// read-only or taken away; an ordinary user owns none of them. What needs a
// capability, such as /proc/kcore, nobody has inside. /proc/sys is read-only for all.
// Each mount takes time, so the lists have what matters.
var (
	procReadOnly = []string{"/proc/irq", "/proc/bus", "/proc/fs", "/proc/driver", "/proc/acpi", "/proc/scsi", "/proc/mtrr"}
	procHidden   = []string{"/proc/kcore", "/proc/sysrq-trigger", "/proc/timer_list"}
	sysHidden    = []string{"/sys/firmware", "/sys/kernel/debug", "/sys/kernel/tracing", "/sys/fs/bpf"}
	// runShown are parts of /run that programs need and that no socket is in.
	runShown = []string{"/run/current-system", "/run/booted-system", "/run/opengl-driver", "/run/systemd/resolve/resolv.conf",
		"/run/systemd/resolve/stub-resolv.conf"}
)

// rule is what becomes of a path and of all below it, up to the next rule. Of two
// rules for one path the later in this order is made.
type rule int

const (
	asRoot rule = iota // what the root is: shown read-only
	held               // writable, and a mount point of its own, which nobody inside can rename
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
	argv = append(argv, "--ro-bind", "/proc/sys", "/proc/sys")
	var sealed []string // become read-only when all mount points below them are made
	hide := func(path string) {
		switch f.kind(path) {
		case directory:
			argv = append(argv, "--tmpfs", path)
		case file: // a device, which a mount without devices lets nobody open
			argv = append(argv, "--ro-bind", "/dev/null", path)
		}
	}
	if f.root {
		for _, path := range procReadOnly {
			if f.kind(path) != missing {
				argv = append(argv, "--ro-bind", path, path)
			}
		}
		for _, path := range slices.Concat(procHidden, sysHidden) {
			hide(path)
		}
	}
	for _, r := range rules(p, f) {
		switch r.rule {
		case emptied, hidden:
			hide(r.path)
			if f.kind(r.path) == directory {
				sealed = append(sealed, r.path)
			}
		case temporary:
			argv = append(argv, "--bind", p.Temp, r.path)
		case shown:
			argv = append(argv, "--ro-bind", r.path, r.path)
		case writable, held:
			argv = append(argv, "--bind", r.path, r.path)
		}
	}
	argv = append(argv, bindArgv(p)...)
	for _, path := range sealed {
		argv = append(argv, "--remount-ro", path)
	}
	argv = append(argv, "--chdir", p.Dir)
	if filter > 0 {
		argv = append(argv, "--seccomp", strconv.Itoa(filter))
	}
	return argv
}

// bindArgv returns the arguments for Binds and ReadOnly.
func bindArgv(p Policy) (argv []string) {
	isAround := func(path string) bool {
		return slices.ContainsFunc(p.Binds, func(b Bind) bool { return below(b.To, path) })
	}
	for _, path := range p.ReadOnly {
		if isAround(path) { // after the binds it would cover them
			argv = append(argv, "--ro-bind", p.source(path), path)
		}
	}
	for _, b := range p.Binds {
		argv = append(argv, bindFlag(b.Write), b.From, b.To)
	}
	for _, path := range p.ReadOnly {
		if !isAround(path) {
			argv = append(argv, "--ro-bind", p.source(path), path)
		}
	}
	return argv
}

// writes returns the paths that the program may write to, as it sees them.
func writes(p Policy, f facts) (paths []string) {
	for _, r := range rules(p, f) {
		if r.rule == temporary || r.rule == writable {
			paths = append(paths, r.path)
		}
	}
	for _, b := range p.Binds {
		if b.Write {
			paths = append(paths, b.To)
		}
	}
	return paths
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
		if Within(path, b.To) {
			return filepath.Join(b.From, strings.TrimPrefix(path, b.To))
		}
	}
	return path
}

// rules returns what becomes of which path, a directory before what is below it. A
// rule that changes nothing is left out: a path in a writable directory is not bound
// again, because the program could have put a link there. Directories in it that lead to
// what is hidden are: renamed, they would take that to a path that is not hidden outside.
// So are those that lead to what is read-only: something else could be put in its place.
// While a session holds them they cannot become links.
func rules(p Policy, f facts) []ruled {
	var all []ruled
	for _, path := range []string{"/run", "/var/run"} {
		if f.kind(path) == directory {
			all = append(all, ruled{path, emptied})
		}
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
	if Within(f.resolv, "/run") {
		add(shown, f.resolv)
	}
	add(shown, p.Show...)
	add(writable, p.Writable...)
	for _, path := range slices.Concat(p.Hidden, p.ReadOnly) {
		for _, open := range p.Writable {
			for dir := filepath.Dir(path); below(dir, open); dir = filepath.Dir(dir) {
				add(held, dir)
			}
		}
	}
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
		if around == held {
			around = writable
		}
		gone := around == emptied || around == temporary || around == hidden
		if r.rule == around || r.rule == hidden && gone || r.rule == shown && around == asRoot || r.rule == held && around != writable {
			continue
		}
		kept = append(kept, r)
	}
	return kept
}
