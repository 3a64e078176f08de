package testenv

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// exitTime is how long processes that are ending already may take.
const exitTime = 20 * time.Second

// CheckProcesses fails the test for each process, other than this one, that
// still has to do with dir: by its environment, working directory or open
// files. It ends exactly those.
func CheckProcesses(t testing.TB, dir string) {
	t.Helper()
	var left []int
	for begun := time.Now(); ; pause(begun) {
		if left = processesOf(t, dir); len(left) == 0 || time.Since(begun) > exitTime {
			break
		}
	}
	for _, pid := range left {
		p, err := os.FindProcess(pid) // holds on to this very process
		if err != nil || !isOf(pid, dir) {
			continue
		}
		t.Errorf("process %d is left: %s", pid, describe(pid))
		if err := p.Kill(); err != nil {
			t.Errorf("end process %d: %v", pid, err)
		}
	}
}

func processesOf(t testing.TB, dir string) []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	var pids []int
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err == nil && pid != os.Getpid() && isOf(pid, dir) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// isOf is false for a process that ended meanwhile, a zombie, and one of
// another user: none of them can be read.
func isOf(pid int, dir string) bool {
	proc := fmt.Sprintf("/proc/%d", pid)
	environ, err := os.ReadFile(proc + "/environ")
	if err != nil {
		return false
	}
	for entry := range bytes.SplitSeq(environ, []byte{0}) {
		if _, value, ok := strings.Cut(string(entry), "="); ok && below(value, dir) {
			return true
		}
	}
	links := []string{proc + "/cwd"}
	if fds, err := os.ReadDir(proc + "/fd"); err == nil {
		for _, fd := range fds {
			links = append(links, filepath.Join(proc, "fd", fd.Name()))
		}
	}
	for _, link := range links {
		if target, err := os.Readlink(link); err == nil && below(target, dir) {
			return true
		}
	}
	return false
}

func below(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, dir+"/")
}

func describe(pid int) string {
	cmdline, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(strings.ReplaceAll(string(cmdline), "\x00", " "))
}
