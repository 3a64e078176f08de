package ptyowner_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"middleman/terminal"
)

// procFile is a file of a process below /proc.
func procFile(t *testing.T, pid int, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// hidden reports whether err is that an owner is closed to an ordinary user,
// which is how it has to be.
func hidden(err error) bool { return errors.Is(err, fs.ErrPermission) && os.Geteuid() != 0 }

// field is the value of a line "Name: value" of /proc/PID/status.
func field(t *testing.T, pid int, name string) string {
	t.Helper()
	for line := range strings.Lines(procFile(t, pid, "status")) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// descriptors are what a process has open.
func descriptors(t *testing.T, pid int) (links []string) {
	t.Helper()
	dir := filepath.Join("/proc", strconv.Itoa(pid), "fd")
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if link, err := os.Readlink(filepath.Join(dir, e.Name())); err == nil {
			links = append(links, link)
		}
	}
	return links
}

// makeUnclean gives this process and thread all that a session must not have.
func makeUnclean(t *testing.T) (leak string) {
	t.Helper()
	runtime.LockOSThread() // the starter's thread is what the owner is forked from
	leak = filepath.Join(t.TempDir(), "leak")
	f, err := os.Create(leak)
	if err != nil {
		t.Fatal(err)
	}
	for range 300 {
		if _, err := syscall.Dup(int(f.Fd())); err != nil { // inheritable
			t.Fatal(err)
		}
	}
	blocked := unix.Sigset_t{}
	blocked.Val[0] = 1<<(unix.SIGTERM-1) | 1<<(unix.SIGUSR1-1) | 1<<(unix.SIGWINCH-1)
	if err := unix.PthreadSigmask(unix.SIG_BLOCK, &blocked, nil); err != nil {
		t.Fatal(err)
	}
	// These need privileges, and are left out without.
	if err := os.WriteFile("/proc/self/oom_score_adj", []byte("-300"), 0); err != nil {
		t.Logf("not spared when memory runs out: %v", err)
	}
	if err := unix.Setpriority(unix.PRIO_PROCESS, 0, -5); err != nil {
		t.Logf("no better priority: %v", err)
	}
	return leak
}

// Whatever the starter is like, the program starts as from a login, and the
// owner has nothing that is not its own.
func TestUncleanStarter(t *testing.T) {
	if os.Getenv("MIDDLEMAN_TEST_UNCLEAN") == "" {
		exe, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("/bin/sh", "-c", `trap "" HUP INT USR2; ulimit -S -n 777; umask 027; exec "$0" -test.run '^TestUncleanStarter$' </dev/null`, exe)
		cmd.Env = append(os.Environ(), "MIDDLEMAN_TEST_UNCLEAN=secret-of-the-server")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	data, newBackend := newBackends(t)
	b := newBackend()
	leak := makeUnclean(t)
	s := spec(`echo READY; read x </dev/tty`)
	s.Env = append(s.Env, "TERM=wrong", "MIDDLEMAN_SESSION=wrong", "OWN=1")
	status := start(t, b, s, nil)
	if err := waitText(b.Session(s.ID), "READY"); err != nil {
		t.Fatal(err)
	}
	owner := ownerPID(t, data, s.ID)
	checkProgram(t, status.PID, s)
	if _, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", owner)); hidden(err) {
		return // the rest is for root to see
	}
	for _, link := range descriptors(t, owner) {
		if link == leak {
			t.Error("the owner has a descriptor of its starter's")
			break
		}
	}
	if got := procFile(t, owner, "environ") + procFile(t, owner, "cmdline"); strings.Contains(got, "secret-of-the-server") || strings.Contains(got, "OWN=1") {
		t.Errorf("the owner's environment and arguments: %q", got)
	}
	if got, want := procFile(t, owner, "oom_score_adj"), procFile(t, os.Getpid(), "oom_score_adj"); got != want {
		t.Errorf("the owner's OOM adjustment is %s, want its starter's %s", got, want)
	}
}

// checkProgram checks all that /proc shows of a program.
func checkProgram(t *testing.T, pid int, s terminal.Spec) {
	t.Helper()
	for _, link := range descriptors(t, pid) {
		if !strings.HasPrefix(link, "/dev/pts/") && link != "/dev/tty" {
			t.Errorf("the program has %s open", link)
		}
	}
	for name, want := range map[string]string{
		"SigBlk": "0000000000000000", "SigIgn": "0000000000000000", "NoNewPrivs": "0", "Umask": "0022",
	} {
		if got := field(t, pid, name); got != want {
			t.Errorf("%s of the program is %s, want %s", name, got, want)
		}
	}
	stat := procFile(t, pid, "stat")
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	group, session, foreground, nice := fields[2], fields[3], fields[5], fields[16]
	if id := strconv.Itoa(pid); group != id || session != id || foreground != id {
		t.Errorf("program %s has group %s, session %s, foreground group %s", id, group, session, foreground)
	}
	// A starter's better priority is not the program's, and a worse one is.
	starter := procFile(t, os.Getpid(), "stat")
	if was, _ := strconv.Atoi(strings.Fields(starter[strings.LastIndexByte(starter, ')')+1:])[16]); nice != strconv.Itoa(max(0, was)) {
		t.Errorf("the program's nice is %s, its starter's %d", nice, was)
	}
	if got := strings.TrimSpace(procFile(t, pid, "oom_score_adj")); strings.HasPrefix(got, "-") {
		t.Errorf("the program's OOM adjustment is %s", got)
	}
	for line := range strings.Lines(procFile(t, pid, "limits")) {
		if limit, ok := strings.CutPrefix(line, "Max open files"); ok && strings.Fields(limit)[0] != "777" {
			t.Errorf("the program's limit of open files is %s, want its starter's 777", limit)
		}
	}
	env := strings.Split(strings.TrimSuffix(procFile(t, pid, "environ"), "\x00"), "\x00")
	env = slices.DeleteFunc(env, func(kv string) bool { return strings.HasPrefix(kv, "PWD=") }) // the shell's
	slices.Sort(env)
	want := []string{"COLORTERM=truecolor", "MIDDLEMAN_SESSION=" + s.ID, "OWN=1", "PATH=/usr/bin:/bin", "TERM=" + termName()}
	if !slices.Equal(env, want) {
		t.Errorf("the program's environment is %q, want %q", env, want)
	}
}
