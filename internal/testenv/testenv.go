package testenv

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// RequireTool returns the path of a program. Without it the test is skipped,
// or fails where CI=true, so that no run passes by testing nothing.
func RequireTool(t testing.TB, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err == nil {
		return path
	}
	if os.Getenv("CI") == "true" {
		t.Fatalf("%s is not installed, and CI=true wants every test", name)
	}
	t.Skipf("%s is not installed; install it to run this test", name)
	return ""
}

// NeedRoot skips the test where it is not root that runs it. why says what an
// ordinary user cannot do. `make test-root` runs these tests.
func NeedRoot(t testing.TB, why string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can " + why)
	}
}

// WriteProgram writes a program that can be run at once. No other goroutine of
// this process forks meanwhile: until its execve(2), the child would hold the
// file open for writing, and execve(2) would refuse the program with ETXTBSY. A program
// at path is replaced, not written: somebody may be starting it, and open(2) would refuse
// to write it then.
func WriteProgram(t testing.TB, path, content string) {
	t.Helper()
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	err := os.WriteFile(path+".new", []byte(content), 0o755)
	if err == nil {
		err = os.Rename(path+".new", path)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Eventually waits until done returns true and fails the test after timeout.
// It polls, so it is only for what gives no event to wait for.
func Eventually(t testing.TB, timeout time.Duration, what string, done func() bool) {
	t.Helper()
	begun := time.Now()
	for ; !done(); pause(begun) {
		if time.Since(begun) > timeout {
			t.Fatalf("not within %v: %s", timeout, what)
		}
	}
}

// pause is for what is asked again and again: it returns after an eighth of the
// time since begun, and after a tenth of a second at most. What asks each few
// milliseconds, by processes, takes the processor from what it waits for.
func pause(begun time.Time) {
	time.Sleep(min(max(time.Since(begun)/8, 2*time.Millisecond), 100*time.Millisecond))
}

// Receive returns the next value of c and fails the test after timeout, or
// when c is closed.
func Receive[T any](t testing.TB, timeout time.Duration, what string, c <-chan T) T {
	t.Helper()
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case v, ok := <-c:
		if !ok {
			t.Fatalf("channel was closed, waited for: %s", what)
		}
		return v
	case <-timer.C:
		t.Fatalf("not within %v: %s", timeout, what)
	}
	panic("not reached")
}

// maxTempDir is how long the path of the system's directory for temporary files
// may be for sockets in directories below it.
const maxTempDir = 40

// ShortParent returns the directory for temporary files, or /tmp if $TMPDIR is
// long.
func ShortParent() string {
	parent := os.TempDir()
	if _, err := os.Stat("/tmp"); err == nil && len(parent) > maxTempDir {
		return "/tmp"
	}
	return parent
}

// ShortDir returns an empty directory (0700) whose path is short enough for
// Unix sockets below it, which that of t.TempDir may not be. It is in
// ShortParent, and canonical: without symbolic links.
func ShortDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp(ShortParent(), "mm-")
	if err == nil {
		t.Cleanup(func() {
			if err := os.RemoveAll(dir); err != nil {
				t.Errorf("clean up: %v", err)
			}
		})
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// Home returns a directory to use as MIDDLEMAN_HOME. At the end of the test
// CheckProcesses looks for what was left running.
func Home(t testing.TB) string {
	t.Helper()
	dir := ShortDir(t)
	t.Cleanup(func() { CheckProcesses(t, dir) })
	return dir
}

// TmuxSocket returns the path of a private tmux server's socket, which the
// test may start; at the end it is ended. It requires tmux.
func TmuxSocket(t testing.TB) string {
	t.Helper()
	tmux := RequireTool(t, "tmux")
	socket := filepath.Join(ShortDir(t), "tmux")
	t.Cleanup(func() {
		// It fails where no server was started, which is fine.
		_ = exec.Command(tmux, "-S", socket, "kill-server").Run()
	})
	return socket
}

// NotUnderWine skips the test where scripts/test-windows runs it, because Wine
// does not do what. On Windows itself it runs.
func NotUnderWine(t testing.TB, what string) {
	t.Helper()
	if os.Getenv("MIDDLEMAN_WINE") != "" {
		t.Skip("not under Wine: " + what)
	}
}
