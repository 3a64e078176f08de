package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"middleman/internal/api"
	"middleman/internal/proc"
)

// serverPID is the process of home's server, 0 without one.
func serverPID(home string) int {
	raw, err := os.ReadFile(filepath.Join(home, "run", "serve.json"))
	var serve api.Serve
	if err != nil || json.Unmarshal(raw, &serve) != nil || !alive(serve.PID) {
		return 0
	}
	return serve.PID
}

func sessionIDs(home string) []string {
	entries, err := os.ReadDir(filepath.Join(home, "data", "sessions"))
	if err != nil {
		return nil
	}
	var ids []string
	for _, e := range entries {
		if e.IsDir() {
			ids = append(ids, e.Name())
		}
	}
	return ids
}

// processesOf finds the processes that have home in their environment,
// arguments, directory or open files, and says what they are.
func processesOf(home string) map[int]string {
	found := map[int]string{}
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() || !alive(pid) {
			continue
		}
		if line, ok := belongs(filepath.Join("/proc", e.Name()), home); ok {
			found[pid] = line
		}
	}
	if pid := lockHolder(filepath.Join(home, "data", "server.lock")); pid != 0 && pid != os.Getpid() && alive(pid) {
		cmdline, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		found[pid] = strings.ReplaceAll(string(cmdline), "\x00", " ")
	}
	return found
}

// lockHolder is who holds a lock of flock(2) on a file, 0 for nobody: a server
// is closed to an ordinary user, but for that.
func lockHolder(path string) int {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	inode := fmt.Sprintf(":%d", info.Sys().(*syscall.Stat_t).Ino)
	locks, _ := os.ReadFile("/proc/locks")
	for line := range strings.Lines(string(locks)) {
		// 1: FLOCK ADVISORY WRITE 123 08:01:456 0 EOF
		if f := strings.Fields(line); len(f) == 8 && f[1] == "FLOCK" && strings.HasSuffix(f[5], inode) {
			pid, _ := strconv.Atoi(f[4]) // -1 in another namespace
			return max(pid, 0)
		}
	}
	return 0
}

func belongs(proc, home string) (string, bool) {
	cmdline, _ := os.ReadFile(filepath.Join(proc, "cmdline"))
	environ, _ := os.ReadFile(filepath.Join(proc, "environ"))
	cwd, _ := os.Readlink(filepath.Join(proc, "cwd"))
	texts := []string{string(cmdline), string(environ), cwd}
	fds, _ := os.ReadDir(filepath.Join(proc, "fd"))
	for _, fd := range fds {
		target, _ := os.Readlink(filepath.Join(proc, "fd", fd.Name()))
		texts = append(texts, target)
	}
	mine := slices.ContainsFunc(texts, func(s string) bool { return strings.Contains(s, home) })
	return strings.ReplaceAll(string(cmdline), "\x00", " "), mine
}

// alive reports whether pid is a process of which a thread still runs: only after that
// are its sockets closed.
func alive(pid int) bool {
	p, ok := proc.Find(pid)
	return ok && !p.Dead
}

func killAll(pids map[int]string) {
	for pid := range pids {
		syscall.Kill(pid, syscall.SIGKILL)
	}
}

// endProcess asks pid to end and waits until it has.
func endProcess(pid int) error {
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil && !errors.Is(err, syscall.ESRCH) {
		return err
	}
	return waitFor(fmt.Sprintf("end of process %d", pid), patience, func() bool { return !alive(pid) })
}

// endTmux ends the private tmux server of home, which is by design still
// there when its last session has ended.
func endTmux(home string) error {
	sockets, err := filepath.Glob(filepath.Join(home, "run", "*tmux*"))
	if err != nil {
		return err
	}
	for _, path := range sockets {
		info, err := os.Stat(path)
		if err == nil && info.Mode()&os.ModeSocket != 0 {
			exec.Command("tmux", "-S", path, "kill-server").Run() // it may have ended by itself
		}
	}
	return waitFor("end of tmux", patience, func() bool { return len(processesOf(home)) == 0 })
}
