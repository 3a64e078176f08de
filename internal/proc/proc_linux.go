package proc

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// BecomeSubreaper makes this process the parent of orphans among its descendants,
// so that a stop finds them (PR_SET_CHILD_SUBREAPER of prctl(2)).
func BecomeSubreaper() {
	// It cannot fail on a kernel that Go runs on.
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
}

// Find returns the process with that pid; ok is false if there is none.
func Find(pid int) (Process, bool) { return readStat(pid, make([]byte, statBytes)) }

// statBytes is enough for any /proc/PID/stat up to the fields that are used.
const statBytes = 1024

// readStat reads /proc/PID/stat into buf and parses it.
func readStat(pid int, buf []byte) (Process, bool) {
	fd, err := unix.Open("/proc/"+strconv.Itoa(pid)+"/stat", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return Process{}, false
	}
	defer unix.Close(fd)
	n, err := unix.Read(fd, buf)
	if err != nil || n <= 0 {
		return Process{}, false
	}
	return parseStat(pid, buf[:n])
}

// parseStat parses the fields of proc_pid_stat(5) that are used. A process whose
// first thread has ended while others run has the state of a zombie, but more
// than one thread. It is not dead.
func parseStat(pid int, stat []byte) (p Process, ok bool) {
	const state, parent, group, session, foreground, flags, faults, threads, start = 0, 1, 2, 3, 5, 6, 8, 17, 19 // from the third field
	const kernelThread = 0x200000                                                                                // PF_KTHREAD
	i := bytes.LastIndexByte(stat, ')')                                                                          // the name may hold anything
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
	p = Process{
		PID: pid, Parent: number(parent), Group: number(group), Session: number(session), Foreground: max(0, number(foreground)),
	}
	ended := fields[state][0] == 'Z' || fields[state][0] == 'X'
	p.Dead = ended && number(threads) <= 1
	p.Headless = ended && !p.Dead
	p.kernel = number(flags)&kernelThread != 0
	var startErr, faultsErr error
	p.Start, startErr = strconv.ParseUint(string(fields[start]), 10, 64)
	p.childFaults, faultsErr = strconv.ParseUint(string(fields[faults]), 10, 64)
	return p, ok && startErr == nil && faultsErr == nil
}

// All returns all processes of the system. If one was reparented while it read
// them, it reads them again, at most three times.
func All() (t Table, err error) {
	for range 3 {
		if t, err = allOnce(); err != nil || !t.torn() {
			break
		}
	}
	return t, err
}

func allOnce() (Table, error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	t := make(Table, len(names))
	buf := make([]byte, statBytes)
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if p, ok := readStat(pid, buf); ok {
			t[pid] = p
		}
	}
	return t, nil
}

// hasEnv reports whether a process has entry, NAME=VALUE, in its initial
// environment (proc_pid_environ(5)). Children inherit it. The environment of
// another user's process cannot be read: then has is false. A process in the
// middle of an execve(2) shows no environment: sure is false for a young process
// that shows none.
func hasEnv(p Process, entry string) (has, sure bool) {
	proc := "/proc/" + strconv.Itoa(p.PID)
	buf := environs.Get().(*[]byte)
	defer environs.Put(buf)
	environ, err := readInto(buf, proc+"/environ")
	if p.Headless {
		// /proc/PID/environ is that of the first thread, which has ended, and
		// belongs to root. The other threads show the environment.
		threads, _ := os.ReadDir(proc + "/task") // an error means that it has ended
		for _, thread := range threads {
			more, _ := os.ReadFile(proc + "/task/" + thread.Name() + "/environ")
			environ = append(environ, more...)
		}
	}
	if len(environ) == 0 {
		if err != nil || p.kernel || p.age() > Youth {
			return false, true
		}
		now, ok := Find(p.PID)
		return false, !ok || now.identity() != p.identity() || now.Dead // it has ended
	}
	return hasEntry(environ, entry), true
}

// hasEntry reports whether environ, entries that each end with a zero byte, has
// that entry.
func hasEntry(environ []byte, entry string) bool {
	whole := []byte(entry + "\x00")
	return bytes.HasPrefix(environ, whole) || bytes.Contains(environ, append([]byte{0}, whole...))
}

// environs are buffers for HasEnv: a look reads the environment of every process.
var environs = sync.Pool{New: func() any { return new(make([]byte, 16<<10)) }}

// readInto reads a file of /proc into *buf, which grows as needed. It does without
// what os.ReadFile does for other files: to ask for the size, and to wait for
// readiness.
func readInto(buf *[]byte, path string) ([]byte, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	for n := 0; ; {
		if n == len(*buf) {
			*buf = append(*buf, make([]byte, len(*buf))...)
		}
		more, err := unix.Read(fd, (*buf)[n:])
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil || more <= 0:
			return (*buf)[:n], err
		default:
			n += more
		}
	}
}

// ticks is the unit of start times: 1/USER_HZ seconds (time(7)). USER_HZ is 100 on
// every system that Go runs on.
const ticks = time.Second / 100

// age returns the time since p started, by the clock of start times.
func (p Process) age() time.Duration {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &now); err != nil {
		return math.MaxInt64
	}
	return time.Duration(now.Nano()) - time.Duration(p.Start)*ticks
}

// signal sends sig to p. If p has ended, the error is ESRCH, also if another
// process has its pid by now: Signal opens the process by its pid (pidfd_open(2)),
// then checks that it is p, and signals by the descriptor.
func signal(p Process, sig unix.Signal) error {
	return signalHeld(p, sig, 0)
}

// StopGroup sends SIGSTOP to the process group of p in one step, so that none of
// its processes can fork meanwhile. On kernels before Linux 6.9, and for this
// process's own group, it does nothing; the caller must stop the processes one by
// one in any case.
func StopGroup(p Process) {
	if p.Group != unix.Getpgrp() {
		_ = signalHeld(p, unix.SIGSTOP, unix.PIDFD_SIGNAL_PROCESS_GROUP)
	}
}

func signalHeld(p Process, sig unix.Signal, flags int) error {
	fd, openErr := unix.PidfdOpen(p.PID, 0)
	if openErr == nil {
		defer unix.Close(fd)
	} else if errors.Is(openErr, unix.ESRCH) {
		return openErr
	}
	now, ok := Find(p.PID)
	switch {
	case !ok || now.Start != p.Start || now.Group != p.Group && flags != 0:
		return unix.ESRCH
	case openErr == nil:
		return unix.PidfdSendSignal(fd, sig, nil, flags)
	case flags != 0:
		return openErr
	}
	return unix.Kill(p.PID, sig) // no free descriptor, or Linux before 5.3
}

// ChildEnded reports whether a child of this process has ended and was not waited
// for yet. It does not block.
func ChildEnded() bool {
	var info unix.Siginfo
	err := unix.Waitid(unix.P_ALL, 0, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
	return err == nil && info.Signo != 0
}

// Inside returns the pids of processes whose working directory is root or below
// it. It leaves out processes of other users, whose directories it cannot read,
// and those with one of the names in own that this process has started, itself
// or by others of these names.
func Inside(root string, own ...string) []int {
	entries, err := os.ReadDir("/proc")
	if err != nil || root == "" {
		return nil
	}
	var pids []int
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		dir, err := os.Readlink(filepath.Join("/proc", entry.Name(), "cwd"))
		if err == nil && (dir == root || strings.HasPrefix(dir, root+"/")) && !startedHere(pid, own) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// nameOf returns what a process calls itself, "" if there is no such process.
func nameOf(pid int) string {
	name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	return strings.TrimSuffix(string(name), "\n")
}

// interpreters are programs that people know by the script that they run. MainThread is
// what newer versions of Node.js call themselves.
var interpreters = []string{"node", "MainThread", "bun", "deno", "ruby", "perl"}

// programOf is nameOf, of an interpreter the name of its script.
func programOf(pid int) string {
	name := nameOf(pid)
	if !slices.Contains(interpreters, name) && !strings.HasPrefix(name, "python") {
		return name
	}
	cmdline, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	argv := strings.Split(string(cmdline), "\x00")
	if len(argv) > 1 && argv[1] != "" && !strings.HasPrefix(argv[1], "-") {
		return filepath.Base(argv[1])
	}
	if name == "MainThread" && argv[0] != "" {
		return filepath.Base(argv[0])
	}
	return name
}

// Named describes processes for people, such as "vim (4711)". The names are what the
// processes call themselves: any bytes.
func Named(pids []int) string {
	words := make([]string, len(pids))
	for i, pid := range pids {
		words[i] = strconv.Itoa(pid)
		if name := nameOf(pid); name != "" {
			words[i] = name + " (" + words[i] + ")"
		}
	}
	return strings.Join(words, ", ")
}

// startedHere reports whether this process has started a process, and neither
// that nor one between the two has another name than these.
func startedHere(pid int, names []string) bool {
	for pid > 1 && pid != os.Getpid() {
		if !slices.Contains(names, nameOf(pid)) {
			return false
		}
		pid = Parent(pid)
	}
	return pid == os.Getpid()
}
