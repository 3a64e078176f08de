package setup

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

const (
	looks     = 200 // for processes that are left
	lookPause = 5 * time.Millisecond
	// quietLooks must find nothing, one after the other: in the middle of an
	// execve(2), and of its end, a process shows no environment.
	quietLooks = 2
)

// End ends every process of ours that has mark in its environment, and returns
// when none is left.
func End(mark string) error {
	var pids []int
	quiet := 0
	for look := range looks {
		if look > 0 {
			time.Sleep(lookPause)
		}
		var err error
		if pids, err = marked(mark); err != nil {
			return err
		}
		if quiet++; len(pids) > 0 {
			quiet = 0
		}
		if quiet == quietLooks {
			return nil
		}
		for _, pid := range pids {
			killMarked(pid, mark)
		}
	}
	return fmt.Errorf("processes %v do not end", pids)
}

// marked lists the processes with mark that have not ended.
func marked(mark string) ([]int, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, fmt.Errorf("look for processes that are left: %w", err)
	}
	var pids []int
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err == nil && pid != os.Getpid() && hasMark(pid, mark) {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

// hasMark reports whether a process began with mark in its environment
// (proc_pid_environ(5)), which children inherit. One that has ended shows none,
// and that of another user's cannot be read.
func hasMark(pid int, mark string) bool {
	environ, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	return err == nil && bytes.Contains(append([]byte{0}, environ...), []byte("\x00"+mark+"\x00"))
}

// killMarked kills a process that is looked at again once it is held, so that
// whoever has its pid by now is safe.
func killMarked(pid int, mark string) {
	fd, err := unix.PidfdOpen(pid, 0)
	if err == nil {
		defer unix.Close(fd)
	}
	switch {
	case errors.Is(err, unix.ESRCH) || !hasMark(pid, mark):
	case err == nil:
		_ = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
	default:
		_ = unix.Kill(pid, unix.SIGKILL) // before Linux 5.3
	}
}
