//go:build linux

package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// end ends what was started, removes what was made, and looks that both are
// gone. What it finds is reported as probes are.
func (w *world) end() []result {
	a := area{name: "end"}
	began := time.Now()
	var all sync.WaitGroup
	for _, s := range w.servers {
		all.Go(s.stop)
	}
	all.Wait()
	temp := w.leftTemporary()
	left := w.endProcesses()
	removed := os.RemoveAll(w.dir)
	if _, err := os.Lstat(w.dir); err == nil {
		removed = errors.Join(removed, fmt.Errorf("%s is still there", w.dir))
	}
	return []result{
		ending(a, probe{id: "end/temporary-files", title: "nothing of ours lies in the temporary directory afterwards",
			gain: "what a session or a login wrote there, to read at leisure"}, began, temp),
		ending(a, probe{id: "end/processes", title: "every process that was started can be ended"}, began, left),
		ending(a, probe{id: "end/files", title: "every file that was made can be removed"}, began, removed),
	}
}

// leftTemporary names what middleman left in its temporary directory.
func (w *world) leftTemporary() error {
	entries, err := os.ReadDir(w.tmp())
	if err != nil {
		return err
	}
	var names []string
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), "probe-") { // ours
			names = append(names, e.Name())
		}
	}
	if len(names) > 0 {
		return fmt.Errorf("left: %s", strings.Join(names, ", "))
	}
	return nil
}

// endProcesses kills what descends from us, and says what would not go.
func (w *world) endProcesses() error {
	var left []int
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
		if left = w.descendants(); len(left) == 0 {
			return nil
		}
		for _, pid := range left {
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
		}
	}
	var names []string
	for _, pid := range left {
		line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)) // it may end meanwhile
		names = append(names, fmt.Sprintf("%d %s", pid, bytes.ReplaceAll(line, []byte{0}, []byte{' '})))
	}
	return fmt.Errorf("left: %s", strings.Join(names, "; "))
}

// descendants are the processes below this one that have not ended. We are a
// subreaper, so what detached itself is among them.
func (w *world) descendants() (pids []int) {
	parent := map[int]int{}
	dead := map[int]bool{}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is well-formed
	for _, path := range stats {
		pid, ppid, state, ok := readStat(path)
		if ok {
			parent[pid], dead[pid] = ppid, state == "Z" || state == "X"
		}
	}
	for pid := range parent {
		for at := parent[pid]; at > 1 && !dead[pid]; at = parent[at] {
			if at == os.Getpid() {
				pids = append(pids, pid)
				break
			}
		}
	}
	return pids
}

// readStat reads a process's number, its parent's and its state.
func readStat(path string) (pid, ppid int, state string, ok bool) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return 0, 0, "", false
	}
	pid, err = strconv.Atoi(strings.Fields(string(raw))[0])
	fields := strings.Fields(string(raw[bytes.LastIndexByte(raw, ')')+1:]))
	if err != nil || len(fields) < 2 {
		return 0, 0, "", false
	}
	ppid, err = strconv.Atoi(fields[1])
	return pid, ppid, fields[0], err == nil
}
