package ptyowner

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// A signal goes to the process that was looked at, never to another that has
// its pid by now.
func TestSignalVerifiesIdentity(t *testing.T) {
	cmd := exec.Command("sleep", "1000")
	cmd.SysProcAttr = &unix.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p, ok := findProcess(cmd.Process.Pid)
	if !ok || p.parent != os.Getpid() || p.group != p.pid {
		t.Fatalf("found %+v, %v", p, ok)
	}
	earlier := p
	earlier.start-- // what had the pid before
	for _, sig := range []unix.Signal{unix.SIGKILL, unix.SIGSTOP} {
		if err := signalProcess(earlier, sig); !errors.Is(err, unix.ESRCH) {
			t.Errorf("%v to a process that is gone: %v, want %v", sig, err, unix.ESRCH)
		}
	}
	stopGroup(earlier)
	if now, ok := findProcess(p.pid); !ok || now.dead {
		t.Error("whoever has the pid now was signalled")
	}
	if err := signalProcess(p, unix.SIGKILL); err != nil {
		t.Error(err)
	}
	var status *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &status) || status.Sys().(syscall.WaitStatus).Signal() != unix.SIGKILL {
		t.Errorf("the process itself: %v, want it killed", err)
	}
	if err := signalProcess(p, unix.SIGKILL); !errors.Is(err, unix.ESRCH) {
		t.Errorf("after its end: %v, want %v", err, unix.ESRCH)
	}
}

// Who descends from a process is told by start times too, so that a pid that
// was used again makes nobody a descendant.
func TestDescendants(t *testing.T) {
	table := processTable{}
	for _, p := range []process{
		{pid: 1, start: 1},
		{pid: 10, parent: 1, start: 50},              // the owner
		{pid: 11, parent: 10, start: 60},             // its program
		{pid: 12, parent: 11, start: 70},             // a child
		{pid: 13, parent: 12, start: 80, dead: true}, // its zombie
		{pid: 5, parent: 12, start: 90},              // pids have wrapped
		{pid: 20, parent: 1, start: 40},              // somebody else's
		{pid: 21, parent: 11, start: 55},             // whose parent's pid is the program's now
		{pid: 30, parent: 1, start: 45},              // in the cgroup
		{pid: 31, parent: 30, start: 46},
	} {
		table[p.pid] = p
	}
	var got []int
	for _, p := range table.below(10, map[int]bool{30: true}) {
		got = append(got, p.pid)
	}
	want := []int{30, 31, 11, 12, 13, 5}
	if len(got) != len(want) {
		t.Fatalf("descendants %v, want %v", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("descendants %v, want %v", got, want)
		}
	}
	found := table.without(table.below(10, nil), func(p process) bool { return p.pid == 12 })
	if pids := pidsOf(found); len(pids) != 1 || pids[0] != 11 {
		t.Errorf("without 12 and what is below: %v, want 11", pids)
	}
	if !table.torn() {
		t.Error("a process hangs from one that is younger, and the look counts as whole")
	}
}

// Where a cgroup is shown depends on what is mounted where.
func TestCgroupDir(t *testing.T) {
	const mounts = "30 25 0:26 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n" +
		"31 25 0:27 / /sys/fs/cgroup/uni\\040fied rw shared:9 - cgroup2 cgroup2 rw\n"
	const inside = "32 25 0:27 /user.slice /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"
	for _, tt := range []struct{ name, mounts, path, want string }{
		{"beside version 1", mounts, "/a/b.scope", "/sys/fs/cgroup/uni fied/a/b.scope"},
		{"below the root of the mount", inside, "/user.slice/b.scope", "/sys/fs/cgroup/b.scope"},
		{"outside the mount", inside, "/system.slice/b.scope", ""},
		{"no mount", "", "/b.scope", ""},
	} {
		if got := cgroupDir(tt.mounts, tt.path); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// A process that was waited for shows, also one that did nothing.
func TestWaitedFor(t *testing.T) {
	before := waitedFor(os.Getpid())
	for range 3 {
		if err := exec.Command("true").Run(); err != nil {
			t.Fatal(err)
		}
		now := waitedFor(os.Getpid())
		if now <= before {
			t.Fatalf("%d before a child was waited for, %d after", before, now)
		}
		before = now
	}
	if n := waitedFor(-1); n != 0 {
		t.Errorf("%d of no process", n)
	}
}
