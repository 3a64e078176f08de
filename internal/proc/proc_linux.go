package proc

import (
	"bytes"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// BecomeSubreaper makes every orphan that a descendant leaves a child of this
// process, so that a stop finds it (prctl(2), PR_SET_CHILD_SUBREAPER).
func BecomeSubreaper() {
	// It cannot fail on a kernel that Go runs on.
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
}

// Find looks at one process.
func Find(pid int) (Process, bool) { return readStat(pid, make([]byte, statBytes)) }

// statBytes holds any /proc/PID/stat up to the fields that are read.
const statBytes = 1024

// readStat reads /proc/PID/stat, with buf as room.
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

// parseStat reads the fields of proc_pid_stat(5) that are of use. A process
// whose first thread has ended and whose others run has a zombie's state, and
// more than one thread; it lives.
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

// All looks at every process. Where one was reparented during the look it looks
// again.
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

// youth is how old a process may be that a look may have met in the middle of its
// first execve(2).
const youth = 2 * time.Second

// HasEnv reports whether a process began with entry, NAME=VALUE, in its
// environment (proc_pid_environ(5)), which children inherit. That of another
// user's process cannot be read. In the middle of an execve(2) a process shows
// none: sure is false for one that is young and shows none.
func HasEnv(p Process, entry string) (has, sure bool) {
	proc := "/proc/" + strconv.Itoa(p.PID)
	environ, err := os.ReadFile(proc + "/environ")
	if p.Headless {
		// With its first thread it has given up its memory there, and the file
		// is root's. Its other threads show it.
		threads, _ := os.ReadDir(proc + "/task") // none where it has gone
		for _, thread := range threads {
			more, _ := os.ReadFile(proc + "/task/" + thread.Name() + "/environ")
			environ = append(environ, more...)
		}
	}
	if len(environ) == 0 {
		if err != nil || p.kernel || p.age() > youth {
			return false, true
		}
		now, ok := Find(p.PID)
		return false, !ok || now.ID() != p.ID() || now.Dead // it has ended
	}
	return bytes.Contains(append([]byte{0}, environ...), []byte("\x00"+entry+"\x00")), true
}

// ticks is the unit of start times: USER_HZ, which is 100 on every system that Go
// runs on (time(7)).
const ticks = time.Second / 100

// age is how long ago p started, by the clock that its start time is of.
func (p Process) age() time.Duration {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &now); err != nil {
		return math.MaxInt64
	}
	return time.Duration(now.Nano()) - time.Duration(p.Start)*ticks
}

// Signal sends sig to p, or returns ESRCH where p has ended. Whoever has its pid
// by now is not signalled: the pid is held by a descriptor (pidfd_open(2)) before
// it is looked whether it is still p's.
func Signal(p Process, sig unix.Signal) error {
	return signalHeld(p, sig, 0)
}

// StopGroup stops the process group of p in one step, so that none of its
// processes forks meanwhile. Where the kernel cannot (before Linux 6.9) it
// does nothing, and the processes are stopped one by one.
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
	return unix.Kill(p.PID, sig) // no descriptor to be had, or before Linux 5.3
}

// ChildEnded reports whether a child has ended and was not waited for yet.
func ChildEnded() bool {
	var info unix.Siginfo
	err := unix.Waitid(unix.P_ALL, 0, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
	return err == nil && info.Signo != 0
}

// Inside returns the processes whose working directory is root or below it.
// What cannot be looked at is another user's.
func Inside(root string) []int {
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
		if err == nil && (dir == root || strings.HasPrefix(dir, root+"/")) {
			pids = append(pids, pid)
		}
	}
	return pids
}
