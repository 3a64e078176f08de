package tmux

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// processes returns all processes of the machine that /proc shows.
func processes() ([]process, error) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	var all []process
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if p, err := readProcess(pid); err == nil { // else it has just ended
			all = append(all, p)
		}
	}
	return all, nil
}

// readProcess reads /proc/PID/stat, see proc_pid_stat(5). The name, in
// parentheses, may hold anything, so the fields are counted from its end.
func readProcess(pid int) (process, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return process{}, err
	}
	s := string(b)
	f := strings.Fields(s[strings.LastIndexByte(s, ')')+1:])
	if len(f) < 4 {
		return process{}, fmt.Errorf("process %d: stat has %d fields", pid, len(f))
	}
	p := process{pid: pid, zombie: f[0] == "Z" || f[0] == "X"}
	if p.parent, err = strconv.Atoi(f[1]); err != nil {
		return process{}, err
	}
	p.session, err = strconv.Atoi(f[3])
	return p, err
}

// leftOf returns how to find what is left of a session whose launcher is gone:
// the processes that have its id in their environment (proc_pid_environ(5)),
// which they inherited. The id is random and is never used twice. One that was
// found and has no environment by now is just ending: it has given its memory
// back, and is there until it is a zombie.
func leftOf(id string) func() ([]int, error) {
	found := map[int]bool{}
	return func() ([]int, error) { return lookForLeft(id, found) }
}

func lookForLeft(id string, before map[int]bool) ([]int, error) {
	all, err := processes()
	if err != nil {
		return nil, err
	}
	mark := []byte("\x00MIDDLEMAN_SESSION=" + id + "\x00")
	var found []int
	for _, p := range all {
		if p.zombie || p.pid == os.Getpid() {
			continue
		}
		env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", p.pid))
		ending := (err != nil || len(env) == 0) && before[p.pid]
		if bytes.Contains(append([]byte{0}, env...), mark) || ending { // else it may be another user's
			before[p.pid] = true
			found = append(found, p.pid)
		}
	}
	return found, nil
}
