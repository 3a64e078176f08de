//go:build linux

package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// leaveTime is what processes that are ending already may take.
const leaveTime = 3 * time.Second

// endLeft ends, by pid, what of this run is left, and says so.
func endLeft(dir string) {
	left := processesOf(dir)
	for deadline := time.Now().Add(leaveTime); len(left) > 0 && time.Now().Before(deadline); left = processesOf(dir) {
		time.Sleep(20 * time.Millisecond)
	}
	for _, pid := range left {
		command, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		fmt.Fprintf(os.Stderr, "bench: process %d was left and is ended: %s\n", pid, bytes.ReplaceAll(command, []byte{0}, []byte{' '}))
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			fmt.Fprintf(os.Stderr, "bench: end process %d: %v\n", pid, err)
		}
	}
}

// processesOf are the processes, other than this one, whose arguments,
// environment or working directory name dir.
func processesOf(dir string) (pids []int) {
	all, _ := filepath.Glob("/proc/[0-9]*") // the pattern is well-formed
	for _, proc := range all {
		pid, err := strconv.Atoi(filepath.Base(proc))
		if err != nil || pid == os.Getpid() {
			continue
		}
		for _, name := range []string{"cmdline", "environ"} {
			text, err := os.ReadFile(filepath.Join(proc, name))
			if err == nil && bytes.Contains(text, []byte(dir)) {
				pids = append(pids, pid)
				break
			}
		}
	}
	return pids
}
