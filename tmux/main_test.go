//go:build unix

package tmux_test

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"middleman/internal/testenv"
	"middleman/ptyowner"
	"middleman/ptyowner/owner"
	"middleman/terminal"
	"middleman/tmux"
)

// TestMain is the owner, the launcher and the pipe's helper of the sessions of
// these tests: they run this very program.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "pty-owner" {
		os.Exit(owner.Main(os.Args[2:], "test", tmux.Host{}))
	}
	if tmux.IsHelper(os.Args[1:]) {
		os.Exit(tmux.Main(os.Args[1:]))
	}
	if len(os.Args) == 4 && os.Args[1] == tryOutProgram {
		os.Exit(tryOut(os.Args[2], os.Args[3]))
	}
	goleak.VerifyTestMain(m)
}

// patience is how long a test waits for what must come. It is long, since a
// machine may be busy, and costs nothing where all is well.
const patience = time.Minute

// place is a Backend on directories and a tmux server of its own.
type place struct {
	*ptyowner.Backend
	data   string
	o      tmux.Options
	server *tmux.Server
}

// newPlace makes a place. At the end of the test every session and the tmux
// server are ended.
func newPlace(t testing.TB, change ...func(*tmux.Options)) *place {
	t.Helper()
	testenv.RequireTool(t, "tmux")
	data := testenv.ShortDir(t)
	o := tmux.Options{
		Sessions: filepath.Join(data, "sessions"), Runtime: filepath.Join(data, "run"),
		Config: filepath.Join(data, "config"),
	}
	for _, do := range change {
		do(&o)
	}
	p := &place{data: data, o: o}
	p.server, p.Backend = p.another()
	t.Cleanup(func() { p.end(t) })
	return p
}

// another is a further Backend on the same directories.
func (p *place) another() (*tmux.Server, *ptyowner.Backend) {
	server := tmux.New(p.o)
	return server, ptyowner.New(ptyowner.Options{
		Data: p.data, Sessions: p.o.Sessions, Runtime: p.o.Runtime, Host: server,
	})
}

func (p *place) end(t testing.TB) {
	ids, err := p.List(context.Background())
	if err != nil {
		t.Error(err)
	}
	for _, id := range ids {
		if err := p.Session(id).Stop(context.Background(), -1); err != nil {
			t.Errorf("stop at the end of the test: %v", err)
		}
	}
	p.Wait()
	pid, err := p.byHand("display-message", "-p", "#{pid}")
	if err != nil {
		return // no server
	}
	p.byHand("kill-server") // it may be ending by itself
	eventually(t, "the tmux server ended", func() bool { return hasEnded(strings.TrimSpace(pid)) })
}

// hasEnded reports whether a process has, be it waited for or not.
func hasEnded(pid string) bool {
	out, err := exec.Command("ps", "-o", "stat=", "-p", pid).Output()
	return err != nil || strings.HasPrefix(strings.TrimSpace(string(out)), "Z")
}

func (p *place) socket() string { return filepath.Join(p.o.Runtime, "tmux.sock") }

func (p *place) conf() string { return filepath.Join(p.o.Config, "tmux.conf") }

// writeConf writes the user's own tmux.conf.
func (p *place) writeConf(t testing.TB, text string) {
	t.Helper()
	if err := os.MkdirAll(p.o.Config, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(p.conf(), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// byHand runs tmux at the private server, as a user does.
func (p *place) byHand(args ...string) (string, error) {
	cmd := exec.Command("tmux", append([]string{"-u", "-S", p.socket()}, args...)...)
	cmd.Env = append(os.Environ(), "TERM=xterm-256color")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// command is byHand for what must work.
func (p *place) command(t testing.TB, args ...string) string {
	t.Helper()
	out, err := p.byHand(args...)
	if err != nil {
		t.Fatalf("tmux %q: %v: %s", args, err, out)
	}
	return out
}

// panes are the panes of all sessions of the server by a format, a line each,
// those of the control client aside.
func (p *place) panes(t testing.TB, format string) string {
	t.Helper()
	list := ""
	for line := range strings.Lines(p.command(t, "list-panes", "-a", "-F", "#{session_name} "+format)) {
		if line, is := strings.CutPrefix(line, tmux.InputSession+" "); !is {
			_, line, _ = strings.Cut(line, " ")
			list += line
		}
	}
	return list
}

// session is one that a test has started.
type session struct {
	terminal.Session
	id, dir string
	pid     int
}

// start starts a shell script.
func (p *place) start(t testing.TB, script string, env ...string) *session {
	t.Helper()
	spec := specOf("/bin/sh", "-c", script)
	spec.Env = append(spec.Env, env...)
	status, err := p.Start(testContext(t), spec)
	if err != nil {
		t.Fatal(err)
	}
	return &session{Session: p.Session(spec.ID), id: spec.ID, dir: filepath.Join(p.o.Sessions, spec.ID), pid: status.PID}
}

func specOf(argv ...string) terminal.Spec {
	return terminal.Spec{
		ID: terminal.NewID("s"), Argv: argv, Env: []string{"PATH=" + os.Getenv("PATH")}, Dir: "/",
		Size: terminal.DefaultSize, Grace: time.Second,
	}
}

func testContext(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	t.Cleanup(cancel)
	return ctx
}

func eventually(t testing.TB, what string, is func() bool) {
	t.Helper()
	testenv.Eventually(t, patience, what, is)
}

func (s *session) status(t testing.TB) terminal.Status {
	t.Helper()
	status, err := s.Status(testContext(t))
	if err != nil {
		t.Fatal(err)
	}
	return status
}

// exit waits for the program's end.
func (s *session) exit(t testing.TB) terminal.Exit {
	t.Helper()
	var status terminal.Status
	eventually(t, "the program's end", func() bool {
		status = s.status(t)
		return status.State.Ended()
	})
	if status.Exit == nil {
		t.Fatalf("it ended without an exit: %+v", status)
	}
	return *status.Exit
}

// output is all that the program has printed.
func (s *session) output(t testing.TB) string {
	t.Helper()
	r, err := s.Output(testContext(t), 0)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	data, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// printed waits until the program has printed a text.
func (s *session) printed(t testing.TB, text string) {
	t.Helper()
	a := s.attach(t, terminal.AttachOptions{Mode: terminal.ModeWatch, From: new(uint64)})
	received(t, a, text)
	if err := a.Close(); err != nil {
		t.Error(err)
	}
}

func (s *session) types(t testing.TB, text string) {
	t.Helper()
	if err := s.Input(testContext(t), []byte(text)); err != nil {
		t.Fatal(err)
	}
}

// attach joins a viewer, which leaves at the end of the test.
func (s *session) attach(t testing.TB, o terminal.AttachOptions) terminal.Attachment {
	t.Helper()
	a, err := s.Attach(testContext(t), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	return a
}

// received collects what a viewer is sent until text was there.
func received(t testing.TB, a terminal.Attachment, text string) string {
	t.Helper()
	late := time.AfterFunc(patience, func() { a.Close() }) // wakes Receive
	defer late.Stop()
	got := ""
	for !strings.Contains(got, text) {
		m, err := a.Receive()
		if err != nil {
			t.Fatalf("%v before %q came in %q", err, text, got)
		}
		got += string(m.Data)
	}
	return got
}
