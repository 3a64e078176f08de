//go:build unix

package testenv

import (
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// freezeTime is how long a process may take to come to its stop.
const freezeTime = time.Minute

// Freeze stops a process with SIGSTOP and returns once it stands still. The
// signal alone is no stop: until the thread that takes it has run, others of
// the process go on, and answer.
func Freeze(pid int) error {
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		return fmt.Errorf("stop process %d: %w", pid, err)
	}
	for deadline := time.Now().Add(freezeTime); ; time.Sleep(2 * time.Millisecond) {
		states, err := threadStates(pid)
		if err != nil {
			return fmt.Errorf("process %d, after SIGSTOP: %w", pid, err)
		}
		if strings.Trim(states, "T") == "" {
			return nil
		}
		if strings.Contains(states, "Z") || time.Now().After(deadline) {
			return errors.Join(fmt.Errorf("process %d, after SIGSTOP: its threads are %s, want T alone", pid, states),
				syscall.Kill(pid, syscall.SIGCONT))
		}
	}
}

// threadStates has the first letter of each thread's state.
func threadStates(pid int) (string, error) {
	args := []string{"-o", "state=", "-p", strconv.Itoa(pid)}
	if runtime.GOOS == "linux" {
		args = append(args, "-L") // elsewhere ps speaks for all of them
	}
	out, err := exec.Command("ps", args...).Output()
	if err != nil {
		return "", fmt.Errorf("ps: %w", err)
	}
	var states strings.Builder
	for _, state := range strings.Fields(string(out)) {
		states.WriteByte(state[0])
	}
	return states.String(), nil
}
