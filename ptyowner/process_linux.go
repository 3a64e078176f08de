package ptyowner

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// openOwn opens this very build, also after the file was replaced. Whoever
// executes it needs the descriptor: this process is closed to others, and so is
// what names it in /proc.
func openOwn() (executable, error) {
	file, err := os.Open("/proc/self/exe")
	return executable{path: fmt.Sprintf("/proc/self/fd/%d", executableFD), file: file}, err
}

// becomeSubreaper makes orphans of the session children of the owner, so that
// a stop finds them (prctl(2), PR_SET_CHILD_SUBREAPER).
func becomeSubreaper() {
	// It cannot fail on a kernel that Go runs on.
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
}

// processStart is when a process started, in clock ticks since boot, field 22
// of proc_pid_stat(5); "" where there is no such process.
func processStart(pid int) string {
	p, ok := findProcess(pid)
	if !ok {
		return ""
	}
	return strconv.FormatUint(p.start, 10)
}

// findProcess looks at one process.
func findProcess(pid int) (process, bool) { return readProcess(pid, make([]byte, statBytes)) }

// statBytes holds any /proc/PID/stat up to the fields that are read.
const statBytes = 1024

// readProcess reads /proc/PID/stat, with buf as room.
func readProcess(pid int, buf []byte) (process, bool) {
	fd, err := unix.Open("/proc/"+strconv.Itoa(pid)+"/stat", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return process{}, false
	}
	defer unix.Close(fd)
	n, err := unix.Read(fd, buf)
	if err != nil || n <= 0 {
		return process{}, false
	}
	return parseStat(pid, buf[:n])
}

// parseStat reads the fields of proc_pid_stat(5) that are of use. A process
// whose first thread has ended and whose others run has a zombie's state, and
// more than one thread; it lives.
func parseStat(pid int, stat []byte) (p process, ok bool) {
	const state, parent, group, session, threads, start = 0, 1, 2, 3, 17, 19 // from the third field
	i := bytes.LastIndexByte(stat, ')')                                      // the name may hold anything
	if i < 0 {
		return p, false
	}
	fields := bytes.Fields(stat[i+1:])
	if len(fields) <= start {
		return p, false
	}
	number := func(field int) int {
		n, err := strconv.Atoi(string(fields[field]))
		ok = ok && err == nil
		return n
	}
	ok = true
	p = process{pid: pid, parent: number(parent), group: number(group), session: number(session)}
	ended := fields[state][0] == 'Z' || fields[state][0] == 'X'
	p.dead = ended && number(threads) <= 1
	p.headless = ended && !p.dead
	var err error
	p.start, err = strconv.ParseUint(string(fields[start]), 10, 64)
	return p, ok && err == nil
}

// readProcesses looks at every process. Where one was reparented during the
// look it looks again.
func readProcesses() (t processTable, err error) {
	for range 3 {
		if t, err = readProcessesOnce(); err != nil || !t.torn() {
			break
		}
	}
	return t, err
}

func readProcessesOnce() (processTable, error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	t := make(processTable, len(names))
	buf := make([]byte, statBytes)
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if p, ok := readProcess(pid, buf); ok {
			t[pid] = p
		}
	}
	return t, nil
}

// processes lists the processes of the session, ended ones too: all
// descendants of the host's root, which the subreaper makes complete, and what is in
// its cgroup, where it has one, but for the owners of other sessions that were started from
// within this one, and what is theirs.
func (o *owner) processes() ([]process, error) {
	t, err := readProcesses()
	if err != nil {
		return nil, err
	}
	self := os.Getpid()
	root, spare := o.term.Root()
	if root == 0 {
		return strayProcesses(o.dir)
	}
	var members map[int]bool
	if o.dir.hasScope() {
		members = findCgroup(o.spec.ID).members()
	}
	found := t.below(root, members)
	return t.without(found, func(p process) bool {
		return root != self && p.pid == self || p.pid == spare || o.dir.isOtherOwner(p)
	}), nil
}

// isOtherOwner reports whether p owns a session whose state directory is
// beside d: its arguments name one, and the record there names p.
func (d stateDir) isOtherOwner(p process) bool {
	if p.pid != p.session || p.dead {
		return false // an owner leads a session
	}
	cmdline, err := os.ReadFile("/proc/" + strconv.Itoa(p.pid) + "/cmdline")
	if err != nil {
		return false
	}
	for arg := range bytes.SplitSeq(cmdline, []byte{0}) {
		other := stateDir{id: filepath.Base(string(arg)), path: string(arg)}
		if other.path == d.path || filepath.Dir(other.path) != filepath.Dir(d.path) {
			continue
		}
		r, err := other.readRecord()
		return err == nil && r.isOf(p)
	}
	return false
}

// isOf reports whether p is the owner that wrote the record.
func (r record) isOf(p process) bool {
	return r.OwnerPID == p.pid && r.OwnerStart == strconv.FormatUint(p.start, 10)
}

// strayProcesses lists the processes of a session without an owner: those that
// have its id in their environment (proc_pid_environ(5)), which they
// inherited, or its scope as cgroup, and what descends from them. Those that
// have ended, the caller, and the owners of other sessions are left out.
func strayProcesses(d stateDir) ([]process, error) {
	t, err := readProcesses()
	if err != nil {
		return nil, err
	}
	self := os.Getpid()
	last, _ := d.readRecord() // without one no owner was there
	members, scoped := make(map[int]bool), d.hasScope()
	for pid, p := range t {
		if p.dead || pid == self || last.isOf(p) {
			continue // the last owner is in the scope until it has ended
		}
		if hasMark(p, d.id) || scoped && isInScope(pid, d.id) {
			members[pid] = true
		}
	}
	found := t.below(0, members)
	return t.without(found, func(p process) bool { return p.dead || p.pid == self || d.isOtherOwner(p) }), nil
}

// hasMark reports whether a process has the session's id in its environment.
// That of another user's process cannot be read.
func hasMark(p process, session string) bool {
	proc := "/proc/" + strconv.Itoa(p.pid)
	environ, _ := os.ReadFile(proc + "/environ")
	if p.headless {
		// With its first thread it has given up its memory there, and the file
		// is root's. Its other threads show it.
		threads, _ := os.ReadDir(proc + "/task") // none where it has gone
		for _, thread := range threads {
			more, _ := os.ReadFile(proc + "/task/" + thread.Name() + "/environ")
			environ = append(environ, more...)
		}
	}
	mark := []byte("\x00MIDDLEMAN_SESSION=" + session + "\x00")
	return bytes.Contains(append([]byte{0}, environ...), mark)
}

// signalProcess sends sig to p, or returns ESRCH where p has ended. Whoever
// has its pid by now is not signalled: the pid is held by a descriptor
// (pidfd_open(2)) before it is looked whether it is still p's.
func signalProcess(p process, sig unix.Signal) error {
	return signalHeld(p, sig, 0)
}

// stopGroup stops the process group of p in one step, so that none of its
// processes forks meanwhile. Where the kernel cannot (before Linux 6.9) it
// does nothing, and the processes are stopped one by one.
func stopGroup(p process) {
	if p.group != unix.Getpgrp() {
		_ = signalHeld(p, unix.SIGSTOP, unix.PIDFD_SIGNAL_PROCESS_GROUP)
	}
}

func signalHeld(p process, sig unix.Signal, flags int) error {
	fd, openErr := unix.PidfdOpen(p.pid, 0)
	if openErr == nil {
		defer unix.Close(fd)
	} else if errors.Is(openErr, unix.ESRCH) {
		return openErr
	}
	now, ok := findProcess(p.pid)
	switch {
	case !ok || now.start != p.start || now.group != p.group && flags != 0:
		return unix.ESRCH
	case openErr == nil:
		return unix.PidfdSendSignal(fd, sig, nil, flags)
	case flags != 0:
		return openErr
	}
	return unix.Kill(p.pid, sig) // no descriptor to be had, or before Linux 5.3
}

// childEnded reports whether a child has ended and was not waited for yet.
func childEnded() bool {
	var info unix.Siginfo
	err := unix.Waitid(unix.P_ALL, 0, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
	return err == nil && info.Signo != 0
}

// waitedFor is a number that grows with each child that a process has waited
// for: the page faults that those had, of which each has one at least, field 11
// of proc_pid_stat(5).
func waitedFor(pid int) uint64 {
	const faults = 8 // from the third field
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0
	}
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) <= faults {
		return 0
	}
	n, _ := strconv.ParseUint(string(fields[faults]), 10, 64) // the kernel writes numbers
	return n
}

// bootTime is when the machine started, about; zero where that is not known.
func bootTime() time.Time {
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) != nil {
		return time.Time{}
	}
	return time.Now().Add(-time.Duration(info.Uptime) * time.Second)
}

// runningImage is which file this process executes.
func runningImage() string {
	info, err := os.Stat("/proc/self/exe")
	if err != nil {
		return ""
	}
	return imageOf(info)
}

// imageOf is the device and inode of a file, which no other has while a process
// executes it.
func imageOf(info os.FileInfo) string {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	return fmt.Sprintf("%d:%d", stat.Dev, stat.Ino)
}

// statProgram looks at the file that a process executes.
func statProgram(pid int) (os.FileInfo, error) {
	return os.Stat(fmt.Sprintf("/proc/%d/exe", pid))
}
