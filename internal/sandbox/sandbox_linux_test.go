package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"middleman/internal/egress"
	"middleman/internal/private"
)

// TestMain makes the test binary a helper, as the real one is.
func TestMain(m *testing.M) {
	if args := os.Args[1:]; IsHelper(args) {
		exit, done := Main(args, nil) // as the real one: with a proxy only where that is needed
		if !done {
			exit, _ = Main(args, egress.Proxy{})
		}
		os.Exit(exit)
	} else if egress.IsHelper(args) {
		os.Exit(egress.Main(args[1:]))
	}
	os.Exit(m.Run())
}

// methods are those that this system has.
func methods(t *testing.T) []Method {
	t.Helper()
	s := Probe()
	var all []Method
	if s.Bubblewrap != "" {
		all = append(all, Bubblewrap)
	} else {
		t.Log(s.NoBubblewrap)
	}
	if s.ABI >= minABI {
		all = append(all, Landlock)
	} else {
		t.Log(s.NoLandlock)
	}
	if len(all) == 0 {
		t.Skipf("this system has no sandbox: %s; %s", s.NoBubblewrap, s.NoLandlock)
	}
	return all
}

// eachMethod runs a test for each method that this system has.
func eachMethod(t *testing.T, test func(t *testing.T, m Method)) {
	for _, m := range methods(t) {
		t.Run(string(m), func(t *testing.T) { test(t, m) })
	}
}

// place is a directory with a workspace and what is around it.
type place struct {
	base, workspace, secret, temp string
}

func newPlace(t *testing.T) place {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := place{base, filepath.Join(base, "workspace"), filepath.Join(base, "secret"), filepath.Join(base, "temp")}
	for _, dir := range []string{p.workspace, p.secret, p.temp} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	writeFile(t, filepath.Join(p.secret, "key"), "the key")
	writeFile(t, filepath.Join(base, "netrc"), "the password")
	writeFile(t, filepath.Join(base, "open"), "open to all")
	return p
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// policy returns a policy for the workspace. The base is shown, because it is in
// /tmp, where a sandbox has files of its own.
func (p place) policy(m Method) Policy {
	return Policy{
		Schema: schema, Level: Workspace, Method: m, Session: "s1", Workspace: "w1", Dir: p.workspace, Temp: p.temp,
		Writable: []string{p.workspace}, Hidden: []string{p.secret, filepath.Join(p.base, "netrc")}, Show: []string{p.base},
	}
}

// command returns a command that runs a program under a policy, as the server does.
func command(t *testing.T, p Policy, program ...string) *exec.Cmd {
	t.Helper()
	raw, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "policy.json")
	if err := private.Replace(file, raw, private.ThisBoot); err != nil {
		t.Fatal(err)
	}
	return exec.Command("/proc/self/exe", append([]string{Command, "--policy", file, "--digest", p.Digest(), "--"}, program...)...)
}

// shell runs a script under a policy, and returns what it prints.
func shell(t *testing.T, p Policy, script string) (out string, code int) {
	t.Helper()
	raw, err := command(t, p, "sh", "-c", script).CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if exit != nil {
		code = exit.ExitCode()
	}
	return strings.TrimSpace(string(raw)), code
}

func TestFilesInside(t *testing.T) {
	eachMethod(t, func(t *testing.T, m Method) {
		at := newPlace(t)
		for _, c := range []struct {
			script string
			works  bool
		}{
			{"pwd && echo x >new && cat new && rm new", true},
			{"cat ../open", true},
			{"echo x >../open", false},
			{"echo x >../new", false},
			{"rm ../open", false},
			{"mv ../open ./stolen", false},
			{"ln ../open ./linked", false},
			{"cat ../secret/key", false},
			{"cat ../netrc", false},
			{"echo x >../secret/planted", false},
			{"echo x >" + at.temp + "/in-temp", m == Landlock},
			{"ls / /usr/bin >/dev/null && head -c 1 /dev/urandom >/dev/null", true},
		} {
			if _, err := exec.LookPath("install"); err != nil && strings.HasPrefix(c.script, "install ") {
				continue // the smallest systems have none
			}
			out, code := shell(t, at.policy(m), c.script)
			if (code == 0) != c.works {
				t.Errorf("%s: exit status %d, and want success to be %t\n%s", c.script, code, c.works, out)
			}
		}
		if raw, err := os.ReadFile(filepath.Join(at.base, "open")); err != nil || string(raw) != "open to all" {
			t.Errorf("a file outside is now %q: %v", raw, err)
		}
		if entries, err := os.ReadDir(at.secret); err != nil || len(entries) != 1 {
			t.Errorf("the hidden directory now has %v: %v", entries, err)
		}
	})
}

// Ordinary modes, and what copies them, work as outside; set-user-ID and set-group-ID are
// refused, and directories still get the latter from where they are made.
func TestModesInside(t *testing.T) {
	eachMethod(t, func(t *testing.T, m Method) {
		at := newPlace(t)
		shared := filepath.Join(at.workspace, "shared")
		if err := errors.Join(os.Mkdir(shared, 0o700), os.Chmod(shared, 0o700|fs.ModeSetgid)); err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			script string
			works  bool
		}{
			{"echo x >a && chmod 755 a && test $(stat -c %a a) = 755 && chmod u-x a && chmod 1700 a", true},
			{"umask 0; mkdir -m 1777 sticky && test $(stat -c %a sticky) = 1777", true},
			{"mkdir -p t/u && echo x >t/u/f && chmod 755 t/u/f && tar -cpf t.tar t && rm -r t && tar -xpf t.tar && test $(stat -c %a t/u/f) = 755", true},
			{"cp -p t/u/f copy && cp -a t tree && test $(stat -c %a copy) = 755", true},
			{"install -m 750 t/u/f installed && install -d made/deep && test $(stat -c %a installed) = 750", true},
			{"mkfifo pipe && mktemp -p . && mkdir -p shared/a/b && test -g shared/a/b && echo x >shared/a/b/f && chmod 755 shared/a/b/f", true},
			{"echo x >b; chmod 4755 b", false},
			{"chmod u+s b", false},
			{"chmod 2755 b", false},
			{"install -m 4755 b c && test -u c", false},
			{"test -u b || test -g b || test -u c", false},
		} {
			if _, err := exec.LookPath("install"); err != nil && strings.HasPrefix(c.script, "install ") {
				continue // the smallest systems have none
			}
			out, code := shell(t, at.policy(m), c.script)
			if (code == 0) != c.works {
				t.Errorf("%s: exit status %d, and want success to be %t\n%s", c.script, code, c.works, out)
			}
		}
	})
}

// A directory of the workspace in which something is hidden stays where it is: at another
// path nothing would know that it is hidden.
func TestWhatLeadsToHiddenStays(t *testing.T) {
	if !slices.Contains(methods(t), Bubblewrap) {
		t.Skip("Landlock hides nothing in a writable directory")
	}
	at := newPlace(t)
	deep := filepath.Join(at.workspace, "a/b/keys")
	if err := os.MkdirAll(deep, 0o700); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(deep, "key"), "the key")
	p := at.policy(Bubblewrap)
	p.Hidden = append(p.Hidden, deep)
	for script, works := range map[string]bool{
		"mv a c": false, "mv a/b c": false, "mv a/b/keys c": false, "rm -rf a/b/keys": false, "cat a/b/keys/key": false,
		"echo x >a/new && echo x >a/b/new && mkdir a/dir && mv a/dir a/b/dir2": true,
	} {
		if out, code := shell(t, p, script); (code == 0) != works {
			t.Errorf("%s: exit status %d, and want success to be %t\n%s", script, code, works, out)
		}
	}
	if raw, err := os.ReadFile(filepath.Join(deep, "key")); err != nil || string(raw) != "the key" {
		t.Errorf("the hidden file is now %q: %v", raw, err)
	}
}

func TestExitStatus(t *testing.T) {
	eachMethod(t, func(t *testing.T, m Method) {
		p := newPlace(t).policy(m)
		for _, want := range []int{0, 1, 7, 127, 255} {
			if out, got := shell(t, p, fmt.Sprint("exit ", want)); got != want || out != "" {
				t.Errorf("exit %d: %d\n%s", want, got, out)
			}
		}
		err := command(t, p, "no-such-program-here").Run()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != exitNotFound {
			t.Errorf("a program that is not there: %v", err)
		}
		err = command(t, p, "sh", "-c", "kill -TERM $$").Run()
		if !errors.As(err, &exit) {
			t.Fatalf("a killed program: %v", err)
		}
		status := exit.Sys().(syscall.WaitStatus)
		if m == Landlock && status.Signal() != syscall.SIGTERM || m == Bubblewrap && status.ExitStatus() != 128+15 {
			t.Errorf("a killed program: %v", err)
		}
	})
}

// The terminal's keys and a stop signal each process of a session. bwrap stays until
// the program has ended, and the program can handle the signal.
func TestSignalReachesTheProgram(t *testing.T) {
	eachMethod(t, func(t *testing.T, m Method) {
		cmd := command(t, newPlace(t).policy(m), "sh", "-c", `trap 'echo handled; exit 5' TERM; trap 'echo more' INT; echo ready; n=0; while [ $n -lt 20 ]; do read line; n=$((n+1)); done; exit 6`)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		read := func(want string) {
			t.Helper()
			got := make([]byte, len(want))
			if _, err := out.Read(got); err != nil || string(got) != want {
				t.Fatalf("read %q, want %q: %v", got, want, err)
			}
		}
		read("ready\n")
		for _, step := range []struct {
			signal syscall.Signal
			says   string
		}{{syscall.SIGINT, "more\n"}, {syscall.SIGTERM, "handled\n"}} {
			if err := syscall.Kill(-cmd.Process.Pid, step.signal); err != nil {
				t.Fatal(err)
			}
			// A shell that is about to read handles it now. One that reads has
			// handled it, and may have ended.
			if _, err := in.Write([]byte("\n")); err != nil && !errors.Is(err, syscall.EPIPE) {
				t.Fatal(err)
			}
			read(step.says)
		}
		var exit *exec.ExitError
		if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 5 {
			t.Errorf("exit: %v", err)
		}
	})
}

// A policy that was changed, is another's to change, or leads through a link is
// refused before anything runs.
func TestRefusedPolicies(t *testing.T) {
	at := newPlace(t)
	m := methods(t)[0]
	link := filepath.Join(at.base, "link")
	if err := os.Symlink(at.secret, link); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name   string
		change func(p *Policy)
		says   string
	}{
		{"a link as writable directory", func(p *Policy) { p.Writable = []string{link} }, "symbolic link"},
		{"a link above a writable directory", func(p *Policy) { p.Writable = []string{filepath.Join(link, "key")} }, "symbolic link"},
		{"a link for temporary files", func(p *Policy) { p.Temp = link }, "symbolic link"},
		{"a hidden link", func(p *Policy) { p.Hidden = []string{link} }, "symbolic link"},
		{"a missing writable directory", func(p *Policy) { p.Writable = []string{filepath.Join(at.base, "missing")} }, "no such file"},
		{"a file for temporary files", func(p *Policy) { p.Temp = filepath.Join(at.base, "open") }, "no directory"},
		{"no level", func(p *Policy) { p.Level = None }, "level"},
		{"another schema", func(p *Policy) { p.Schema = 2 }, "schema 2"},
	} {
		p := at.policy(m)
		c.change(&p)
		out, code := shell(t, p, "echo ran")
		if code != exitRefused || !strings.Contains(out, c.says) || strings.Contains(out, "ran\n") {
			t.Errorf("%s: exit status %d, want %d and %q\n%s", c.name, code, exitRefused, c.says, out)
		}
	}
	cmd := command(t, at.policy(m), "echo", "ran")
	for i, arg := range cmd.Args {
		if arg == "--digest" {
			cmd.Args[i+1] = strings.Repeat("0", 64)
		}
	}
	if out, err := cmd.CombinedOutput(); err == nil || !bytes.Contains(out, []byte("has digest")) {
		t.Errorf("another digest: %v\n%s", err, out)
	}
}

// Variables that lead to programs outside do not reach the program.
func TestEnvironInside(t *testing.T) {
	eachMethod(t, func(t *testing.T, m Method) {
		p := newPlace(t).policy(m)
		p.Env = []string{"GLIBC_TUNABLES=", "FROM_POLICY=kept"}
		cmd := command(t, p, "env")
		cmd.Env = append(os.Environ(), "SSH_AUTH_SOCK=/x", "DBUS_SESSION_BUS_ADDRESS=x", "VSCODE_IPC_HOOK=x", "TMUX=x", "DISPLAY=:0", "TERM_PROGRAM=kept", "DISPLAY_NAME=kept")
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(out)) {
			name, _, _ := strings.Cut(line, "=")
			if slices.Contains([]string{"SSH_AUTH_SOCK", "DBUS_SESSION_BUS_ADDRESS", "VSCODE_IPC_HOOK", "TMUX", "DISPLAY"}, name) {
				t.Errorf("the program has %s", line)
			}
		}
		if strings.Count(string(out), "=kept\n") != 3 {
			t.Errorf("variables are missing:\n%s", out)
		}
	})
}

// What is mounted on the host while a session runs appears in its namespace too. It
// cannot be written there.
func TestLaterMount(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can mount")
	}
	if Probe().ABI < minABI {
		t.Skip("this kernel has no Landlock that confines writes: " + Probe().NoLandlock)
	}
	home, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", home) // the program may write to /tmp
	eachMethod(t, func(t *testing.T, m Method) {
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
		defer cancel()
		at := newPlace(t)
		cmd := command(t, at.policy(m), "sh", "-c", "echo ready >ready; read line <go; ls ../mounted; echo x >../mounted/new; echo x >../mounted/there; echo $?")
		script := `set -e
mount --make-rshared /
mkdir mounted; mkfifo workspace/ready workspace/go
"$@" & read line <workspace/ready
mount -t tmpfs tmpfs mounted; echo old >mounted/there
echo go >workspace/go; wait; cat mounted/there; ls mounted; umount mounted`
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		cmd.Args[0] = self // in a shell, /proc/self/exe is the shell
		outer := exec.CommandContext(ctx, "unshare", append([]string{"-m", "sh", "-c", script, "sh"}, cmd.Args...)...)
		outer.Dir, outer.WaitDelay = at.base, time.Minute
		out, err := outer.Output()
		if want := "there\n2\nold\nthere\n"; err != nil || string(out) != want && string(out) != strings.Replace(want, "2", "1", 1) {
			t.Errorf("%q, want %q: %v", out, want, err)
		}
	})
}

// A program runs into each limit, and below it works.
func TestLimits(t *testing.T) {
	eachMethod(t, func(t *testing.T, m Method) {
		for _, c := range []struct {
			name, script string
			limits       Limits
			fails        string // in what it says
		}{
			{"memory", "dd if=/dev/zero of=/dev/null bs=200000000 count=1", Limits{Memory: 64 << 20}, "memory"},
			{"memory of children", "sh -c 'dd if=/dev/zero of=/dev/null bs=200000000 count=1'", Limits{Memory: 64 << 20}, "memory"},
			{"a limit that is raised again", "ulimit -d 1000000 && echo raised", Limits{Memory: 64 << 20}, "limit"},
			{"a file", "head -c 2000000 /dev/zero >large", Limits{Files: 1 << 20}, ""},
			{"a file that grows", "for i in 1 2 3; do head -c 500000 /dev/zero >>grown || exit 1; done", Limits{Files: 1 << 20}, ""},
			{"processes", "trap 'kill $all' EXIT; i=0; while [ $i -lt 40 ]; do sleep 60 & all=\"$all $!\"; i=$((i+1)); done; exit 0", Limits{Processes: 20}, "fork"},
		} {
			if c.limits.Processes > 0 && (m != Bubblewrap || canLimitProcesses() != nil) {
				t.Logf("%s: cannot be limited here", c.name)
				continue
			}
			p := newPlace(t).policy(m)
			if out, code := shell(t, p, c.script); code != 0 {
				if c.name != "a limit that is raised again" {
					t.Errorf("%s, without a limit: exit status %d\n%s", c.name, code, out)
				}
			}
			p = newPlace(t).policy(m)
			p.Limits = c.limits
			if out, code := shell(t, p, c.script); code == 0 || !strings.Contains(out, c.fails) {
				t.Errorf("%s, with %+v: exit status %d, want a failure with %q\n%s", c.name, c.limits, code, c.fails, out)
			}
			if info, err := os.Stat(filepath.Join(p.Dir, "grown")); err == nil && info.Size() > 1<<20 {
				t.Errorf("the file grew to %d bytes", info.Size())
			}
		}
	})
}

// A limit that is below what the start itself needs is the program's: the start ends
// well, whatever it has to copy for the program.
func TestLimitBelowTheStart(t *testing.T) {
	eachMethod(t, func(t *testing.T, m Method) {
		p := newPlace(t).policy(m)
		p.Limits = Limits{Memory: 1 << 20}
		cmd := command(t, p, "sh", "-c", "echo ran")
		cmd.Env = append(os.Environ(), "GOGC=1")
		for i := range 18 {
			cmd.Env = append(cmd.Env, fmt.Sprintf("LARGE_%d=%s", i, strings.Repeat("x", 100<<10)))
		}
		if out, err := cmd.CombinedOutput(); err != nil || string(out) != "ran\n" {
			t.Errorf("%v\n%.2000s", err, out)
		}
	})
}
