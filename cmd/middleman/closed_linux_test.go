package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"middleman/internal/testenv"
)

// other runs the real command line as an ordinary user: as another one where
// the tests run as root.
type other struct {
	t      *testing.T
	home   string
	binary string
	secret string
	uid    int
}

// ordinary copies this very binary, whose build directory is closed to others.
func ordinary(t *testing.T) *other {
	t.Helper()
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	dir := testenv.ShortDir(t)
	o := &other{t: t, home: filepath.Join(dir, "home"), binary: filepath.Join(dir, "bin", "middleman"), secret: "SECRET-OF-THE-SHELL", uid: os.Geteuid()}
	for _, sub := range []string{o.home, filepath.Dir(o.binary)} {
		if err := os.Mkdir(sub, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	testenv.WriteProgram(t, o.binary, string(self))
	if o.uid == 0 {
		o.uid = testenv.Stranger
		for _, path := range []string{dir, o.home, filepath.Dir(o.binary), o.binary} {
			if err := os.Chown(path, o.uid, o.uid); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Cleanup(func() {
		// What a test has replaced is put back, to stop what it has started.
		_ = os.Remove(o.binary)
		if err := os.WriteFile(o.binary, self, 0o755); err != nil {
			t.Error(err)
		}
		for _, id := range sessionIDs(o.home) {
			if out, err := o.command("stop", id, "--grace", "0s").CombinedOutput(); err != nil {
				t.Errorf("stop %s: %v: %s", id, err, out)
			}
		}
		if pid := serverPID(o.home); pid != 0 {
			if err := endProcess(pid); err != nil {
				t.Error(err)
			}
		}
		if err := endTmux(o.home); err != nil {
			t.Error(err)
		}
	})
	return o
}

// command is the command line, from a shell with a secret, a umask of 0 and no
// limit of core files.
func (o *other) command(args ...string) *exec.Cmd {
	return o.shell(`umask 0; ulimit -S -c "$(ulimit -H -c)"; exec "$0" "$@"`, append([]string{o.binary}, args...)...)
}

// shell runs a script as the ordinary user.
func (o *other) shell(script string, args ...string) *exec.Cmd {
	cmd := exec.Command("/bin/sh", append([]string{"-c", script}, args...)...)
	cmd.Dir = "/"
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + o.home, "SHELL=/bin/sh", "TERM=xterm-256color", "MIDDLEMAN_HOME=" + o.home, "GITHUB_TOKEN=" + o.secret,
	}
	if os.Geteuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(o.uid), Gid: uint32(o.uid)}}
	}
	return cmd
}

func (o *other) must(cmd *exec.Cmd) string {
	o.t.Helper()
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		o.t.Fatalf("%v: %v\n%s%s", cmd.Args, err, out, errs.String())
	}
	return string(out)
}

// closed checks that the same user can read neither memory nor environment of a
// process, and that it leaves no core file.
func (o *other) closed(what string, pid int) {
	o.t.Helper()
	for _, name := range []string{"environ", "mem", "maps", "fd/0"} {
		if out, err := o.shell(`cat "/proc/$0/$1" >/dev/null`, fmt.Sprint(pid), name).CombinedOutput(); err == nil || !strings.Contains(string(out), "ermission denied") {
			o.t.Errorf("%s: its %s can be read: %v, %s", what, name, err, out)
		}
	}
	if os.Geteuid() == 0 {
		if text, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid)); err != nil || strings.Contains(string(text), o.secret) {
			o.t.Errorf("%s: its environment is %q, %v", what, text, err)
		}
	}
	limits, err := os.ReadFile(fmt.Sprintf("/proc/%d/limits", pid))
	if err != nil {
		o.t.Error(err)
	}
	for line := range strings.Lines(string(limits)) {
		if limit, ok := strings.CutPrefix(line, "Max core file size"); ok && strings.Fields(limit)[0] != "0" {
			o.t.Errorf("%s: its limit of core files is %s", what, limit)
		}
	}
}

// run starts a session that says what its program was started with, and
// returns its id.
func (o *other) run(name, backend string) (id string) {
	o.t.Helper()
	out := o.must(o.command("new", name, "-d", "--json", "--mode", "directory", "--backend", backend, "--",
		"sh", "-c", `echo "core $(ulimit -S -c) umask $(umask) READY"; exec sleep 1000`))
	var made struct {
		Session struct{ ID string }
	}
	if err := json.Unmarshal([]byte(out), &made); err != nil {
		o.t.Fatal(err)
	}
	o.must(o.command("wait", name, "--text", "READY", "--timeout", "60s"))
	limit := "0"
	var hard unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_CORE, &hard); err != nil {
		o.t.Fatal(err)
	}
	if hard.Max == unix.RLIM_INFINITY {
		limit = "unlimited"
	} else if hard.Max != 0 {
		o.t.Logf("the hard limit of core files is %d: not compared", hard.Max)
		return made.Session.ID
	}
	if screen := o.must(o.command("capture", name)); !strings.Contains(screen, "core "+limit+" umask "+o.umask()+" READY") {
		o.t.Errorf("%s: started with %q, want core %s and umask %s", backend, strings.TrimSpace(screen), limit, o.umask())
	}
	return made.Session.ID
}

// umask is what a login begins with here.
func (o *other) umask() string {
	text, _ := os.ReadFile("/etc/login.defs")
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) == 2 && f[0] == "UMASK" {
			return fmt.Sprintf("%04s", f[1])
		}
	}
	return "0022"
}

// A server and the owners tell other processes of the same user nothing, also
// after an upgrade; what they host is started as from a login; and all of it
// works for an ordinary user with the binary replaced.
func TestServerAndOwnersAreClosed(t *testing.T) {
	o := ordinary(t)
	foreground := o.command("serve", "--listen", "127.0.0.1:0")
	r, w := io.Pipe()
	foreground.Stdout, foreground.Stderr = w, w
	if err := foreground.Start(); err != nil {
		t.Fatal(err)
	}
	said := make(chan string, 1)
	go func() {
		buf := make([]byte, 4096)
		n, _ := r.Read(buf)
		said <- string(buf[:n])
		_, _ = io.Copy(io.Discard, r)
	}()
	defer func() {
		foreground.Process.Signal(unix.SIGTERM)
		foreground.Wait()
		w.Close()
	}()
	if line := testenv.Receive(t, 60*time.Second, "the server's first line", said); !strings.HasPrefix(line, "listening on ") {
		t.Fatalf("the server said %q", line)
	}
	o.closed("the server in the foreground", foreground.Process.Pid)
	o.backends("a")

	foreground.Process.Signal(unix.SIGTERM)
	foreground.Wait()
	o.must(o.command("serve", "--background"))
	o.closed("the server in the background", serverPID(o.home))
	// Another binary in its place, as an upgrade puts it: sessions are started
	// by the one that runs.
	if err := os.Remove(o.binary); err != nil {
		t.Fatal(err)
	}
	self, err := os.ReadFile("/proc/self/exe")
	if err == nil {
		err = os.WriteFile(o.binary, self, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	o.backends("b")
	o.closed("the server that was replaced", serverPID(o.home))
}

// backends starts a session on each backend and looks at its owner.
func (o *other) backends(name string) {
	o.t.Helper()
	id := o.run(name+"1", "pty-owner")
	text, err := os.ReadFile(filepath.Join(o.home, "data/sessions", id, "owner.json"))
	if err != nil {
		o.t.Fatal(err)
	}
	var owner struct {
		PID int `json:"owner_pid"`
	}
	if err := json.Unmarshal(text, &owner); err != nil {
		o.t.Fatal(err)
	}
	o.closed("an owner", owner.PID)
	if out := o.must(o.command("upgrade", id)); !strings.Contains(out, "\tcurrent\t") && !strings.Contains(out, "\tupgraded\t") {
		o.t.Errorf("upgrade: %q", out)
	}
	if out := o.must(o.command("upgrade", id, "--force")); !strings.Contains(out, "\tupgraded\t") {
		o.t.Errorf("upgrade --force: %q", out)
	}
	o.closed("an owner that was upgraded", owner.PID)
	if _, err := exec.LookPath("tmux"); err == nil {
		o.run(name+"2", "tmux")
	}
}
