package ptyowner

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// defaultExecutable names this very build, also after the file was replaced,
// and for whatever process execs it while this one lives.
func defaultExecutable() (string, error) { return fmt.Sprintf("/proc/%d/exe", os.Getpid()), nil }

// becomeSubreaper makes orphans of the session children of the owner, so that
// a stop finds them (prctl(2), PR_SET_CHILD_SUBREAPER).
func becomeSubreaper() {
	// It cannot fail on a kernel that Go runs on.
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
}

// resetIgnored gives each signal that is ignored still its default action. The
// runtime leaves alone signals 32 and 33, which the C library uses, and whoever
// started us may have ignored them (rt_sigaction(2)).
func resetIgnored() {
	const sigIgn = 1
	for sig := uintptr(1); sig <= 64; sig++ {
		// Enough for struct sigaction of the kernel on every architecture. Its
		// first word is the handler; all zero is SIG_DFL.
		var action, defaultAction [8]uint64
		_, _, errno := unix.RawSyscall6(unix.SYS_RT_SIGACTION, sig, 0, uintptr(unsafe.Pointer(&action)), 8, 0, 0)
		if errno == 0 && action[0] == sigIgn {
			unix.RawSyscall6(unix.SYS_RT_SIGACTION, sig, uintptr(unsafe.Pointer(&defaultAction)), 0, 8, 0, 0)
		}
	}
}

// processStart is when a process started, in clock ticks since boot, field 22
// of proc_pid_stat(5); "" where there is no such process.
func processStart(pid int) string {
	fields, ok := statFields(pid)
	if !ok {
		return ""
	}
	return string(fields[19])
}

// statFields returns the fields of /proc/PID/stat from the third on.
func statFields(pid int) ([][]byte, bool) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil, false
	}
	i := bytes.LastIndexByte(data, ')') // the name may hold anything
	if i < 0 {
		return nil, false
	}
	fields := bytes.Fields(data[i+1:])
	return fields, len(fields) > 20
}

// processes lists every process that is not a zombie, with its parent.
func processes() (parents map[int]int, err error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	parents = make(map[int]int, len(names))
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		fields, ok := statFields(pid)
		if !ok || fields[0][0] == 'Z' || fields[0][0] == 'X' {
			continue
		}
		parent, err := strconv.Atoi(string(fields[1]))
		if err != nil {
			continue
		}
		parents[pid] = parent
	}
	return parents, nil
}

// remaining lists the processes of the session: all descendants of the owner,
// which the subreaper makes complete.
func (o *owner) remaining() ([]int, error) {
	parents, err := processes()
	if err != nil {
		return nil, err
	}
	self := os.Getpid()
	var pids []int
	for pid := range parents {
		for at, hops := pid, 0; at > 1 && hops < len(parents); hops++ {
			at = parents[at]
			if at == self {
				pids = append(pids, pid)
				break
			}
		}
	}
	return pids, nil
}

// strays lists the processes of a session without an owner: those that have
// its id in their environment (proc_pid_environ(5)), which they inherited.
func strays(session string) ([]int, error) {
	parents, err := processes()
	if err != nil {
		return nil, err
	}
	mark := []byte("\x00MIDDLEMAN_SESSION=" + session + "\x00")
	var pids []int
	for pid := range parents {
		environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		if err != nil || pid == os.Getpid() {
			continue // another user's, or gone
		}
		if bytes.Contains(append([]byte{0}, environ...), mark) {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

// statProgram looks at the file that a process executes.
func statProgram(pid int) (os.FileInfo, error) {
	return os.Stat(fmt.Sprintf("/proc/%d/exe", pid))
}
