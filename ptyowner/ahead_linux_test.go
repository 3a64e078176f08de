package ptyowner_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"middleman/internal/testenv"
	"middleman/terminal"
)

// What is typed at a program that does not read waits with whoever types: the
// owner does not grow, nor does its host. Once the program reads it gets all.
func TestTypingAheadIsBounded(t *testing.T) {
	size := 100 << 20
	if testing.Short() {
		size = 40 << 20
	}
	for name, mode := range map[string]string{"bytes": "raw -echo", "lines": "-echo"} {
		t.Run(name, func(t *testing.T) { typeAhead(t, mode, size) })
	}
}

func typeAhead(t *testing.T, mode string, size int) {
	const partBytes, line = 256 << 10, 64
	data, newBackend := newBackends(t)
	b := newBackend()
	m := newTraces(t)
	read := 4 << 20 // of it, as tmux takes some MB a second
	session := m.run(b, fmt.Sprintf(`stty %s; echo READY
		until [ -e "$D/go" ]; do sleep 0.05; done
		head -c %d | sha256sum; exec sleep 1000`, mode, read))
	status, err := session.Status(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	processes := []int{ownerPID(t, data, status.ID)}
	if onTmux() {
		processes = append(processes, parentOf(t, parentOf(t, status.PID)))
	}
	before := make([]int64, len(processes))
	for i, pid := range processes {
		before[i] = residentOf(t, pid)
	}

	part := []byte(strings.Repeat(strings.Repeat("x", line-1)+"\n", partBytes/line))
	var taken atomic.Int64
	ctx, cancel := context.WithCancel(context.Background())
	typed := make(chan error, 1)
	go func() { typed <- typeAll(ctx, session, part, size, &taken) }()
	awaitStandstill(t, &taken, size)
	for i, pid := range processes {
		if grown := residentOf(t, pid) - before[i]; grown > 16<<20 {
			t.Errorf("process %d has grown by %d KiB, with %d KiB typed", pid, grown>>10, taken.Load()>>10)
		}
	}
	if got := taken.Load(); got > 1<<20 {
		t.Errorf("%d KiB were taken that nobody has read", got>>10)
	}
	if err := os.WriteFile(filepath.Join(m.dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	sum := sha256.New()
	for n := 0; n < read; n += len(part) {
		sum.Write(part)
	}
	if err := waitText(session, fmt.Sprintf("%x", sum.Sum(nil))); err != nil {
		t.Error(err)
	}
	cancel()
	if err := testenv.Receive(t, time.Minute, "the end of typing", typed); err == nil {
		t.Error("all of it was taken")
	}
	stopped, _ := m.stop(session, -1)
	exited(t, data, stopped)
}

// typeAll types part until that is size bytes, and counts what was taken.
func typeAll(ctx context.Context, s terminal.Session, part []byte, size int, taken *atomic.Int64) error {
	for taken.Load() < int64(size) {
		if err := s.Input(ctx, part); err != nil {
			return err
		}
		taken.Add(int64(len(part)))
	}
	return nil
}

// awaitStandstill waits until no more is taken for a while, or all is.
func awaitStandstill(t *testing.T, taken *atomic.Int64, size int) {
	t.Helper()
	last, looks := int64(-1), 0
	testenv.Eventually(t, time.Minute, "no more is taken", func() bool {
		now := taken.Load()
		if looks++; now != last {
			last, looks = now, 0
		}
		return looks > 100 || now >= int64(size)
	})
}

// residentOf is how much memory a process has, in bytes (proc_pid_statm(5)).
func residentOf(t *testing.T, pid int) int64 {
	t.Helper()
	var size, resident int64
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err == nil {
		_, err = fmt.Sscan(string(text), &size, &resident)
	}
	if err != nil {
		t.Fatal(err)
	}
	return resident * int64(os.Getpagesize())
}
