//go:build unix

package tmux_test

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"middleman/internal/testenv"
	"middleman/terminal"
	"middleman/tmux"
)

// script makes a program of sh that stands for tmux.
func script(t testing.TB, text string) (path string) {
	t.Helper()
	path = filepath.Join(testenv.ShortDir(t), "tmux")
	testenv.WriteProgram(t, path, "#!/bin/sh\n"+text+"\n")
	return path
}

func nobodyKnows(string) (bool, error) { return false, nil }

func TestTheUsersOwnTmuxIsUntouched(t *testing.T) {
	p := newPlace(t)
	socket := testenv.TmuxSocket(t)
	user := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("tmux", append([]string{"-f", os.DevNull, "-S", socket}, args...)...)
		cmd.Env = append(os.Environ(), "TMUX=")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return string(out)
	}
	user("new-session", "-d", "-s", "mine", "--", "sleep", "1000")
	look := func() string {
		t.Helper()
		return user("list-sessions", "-F", "#{session_name} #{session_id}", ";", "show-options", "-g", ";",
			"show-environment", "-g", ";", "list-panes", "-a", "-F", "#{pane_pid} #{pane_dead}", ";", "list-clients")
	}
	before := look()
	t.Setenv("TMUX", socket+",1,0")
	t.Setenv("TMUX_PANE", "%0")
	s := p.start(t, `echo "[$TMUX$TMUX_PANE]"; read x`)
	s.printed(t, "[]")
	a := s.attach(t, terminal.AttachOptions{Mode: terminal.ModeAttach, Size: terminal.Size{Cols: 90, Rows: 20}})
	if err := a.Input([]byte("x")); err != nil {
		t.Error(err)
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	if err := s.Stop(testContext(t), -1); err != nil {
		t.Error(err)
	}
	if after := look(); after != before {
		t.Errorf("the user's server was\n%s\nand is\n%s", before, after)
	}
	if os.Getenv("TMUX") != socket+",1,0" {
		t.Error("TMUX has changed")
	}
}

// TestATargetIsNotAPrefix: acts on a session that is gone hit no sibling.
func TestATargetIsNotAPrefix(t *testing.T) {
	p := newPlace(t)
	s := p.start(t, "trap '' HUP; echo READY; while :; do sleep 0.1; done")
	s.printed(t, "READY")
	a := s.attach(t, terminal.AttachOptions{Mode: terminal.ModeAttach, Size: terminal.DefaultSize})
	sibling := s.id + "x"
	p.command(t, "new-session", "-d", "-s", sibling, "-x", "80", "-y", "24", "--", "sh", "-c", "read x")
	p.command(t, "kill-session", "-t", "="+s.id)
	// Each of them may be refused, or not: the session may have ended by now.
	_ = s.Input(testContext(t), []byte("x\n"))
	_ = a.Input([]byte("y\n"))
	_ = a.Resize(terminal.Size{Cols: 10, Rows: 10})
	if err := s.Stop(testContext(t), -1); err != nil {
		t.Error(err)
	}
	if err := s.Remove(testContext(t)); err != nil {
		t.Error(err)
	}
	if got := p.panes(t, "#{session_name} #{pane_width} #{pane_dead}"); got != sibling+" 80 0\n" {
		t.Errorf("sessions are %q", got)
	}
	if got := p.command(t, "list-buffers"); got != "" {
		t.Errorf("buffers were left: %q", got)
	}
	p.command(t, "kill-session", "-t", "="+sibling)
}

// TestForeignSessionsAreNotReaped: only a pane with our mark whose state is
// gone is ended.
func TestForeignSessionsAreNotReaped(t *testing.T) {
	p := newPlace(t)
	ctx := testContext(t)
	if got, err := p.Reap(ctx, nobodyKnows); err != nil || len(got) != 0 {
		t.Errorf("without a server: %q, %v", got, err)
	}
	kept := p.start(t, "read x")
	foreign, other, orphan := terminal.NewID("s"), terminal.NewID("s"), terminal.NewID("s")
	for _, name := range []string{foreign, other, orphan, "work", "evil"} {
		p.command(t, "new-session", "-d", "-s", name, "--", "sh", "-c", "read x")
	}
	mark := func(name, id, owner string) {
		t.Helper()
		target := tmux.PaneTarget(name)
		p.command(t, "set-option", "-p", "-t", target, tmux.OwnerOption, owner, ";", "set-option", "-p", "-t", target, tmux.PaneOption, id)
	}
	mark(other, other, "/elsewhere/"+other)
	mark(orphan, orphan, filepath.Join(p.o.Sessions, orphan))
	mark("evil", "../sessions/x", filepath.Join(p.o.Sessions, "../sessions/x")) // no id
	if got, err := p.Reap(ctx, func(string) (bool, error) { return true, nil }); err != nil || len(got) != 0 {
		t.Errorf("a session that has a row was reaped: %q, %v", got, err)
	}
	if got, err := p.Reap(ctx, func(string) (bool, error) { return false, io.ErrUnexpectedEOF }); !errors.Is(err, io.ErrUnexpectedEOF) || len(got) != 0 {
		t.Errorf("without an answer about rows: %q, %v", got, err)
	}
	got, err := p.Reap(ctx, nobodyKnows)
	if err != nil || !slices.Equal(got, []string{orphan}) {
		t.Errorf("reaped %q, %v, want %q", got, err, orphan)
	}
	left := strings.Fields(p.panes(t, "#{session_name}"))
	want := []string{kept.id, foreign, other, "work", "evil"}
	slices.Sort(want)
	slices.Sort(left)
	if !slices.Equal(left, want) {
		t.Errorf("sessions left %q, want %q", left, want)
	}
	for _, name := range []string{foreign, other, "work", "evil"} {
		p.command(t, "kill-session", "-t", "="+name)
	}
}

// TestAServerThatDoesNotAnswerIsNotDead: a probe that fails is an error, and
// hides no session.
func TestAServerThatDoesNotAnswerIsNotDead(t *testing.T) {
	p := newPlace(t)
	s := p.start(t, "read x; exit 3")
	pid, err := strconv.Atoi(p.serverPID(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := testenv.Freeze(pid); err != nil {
		t.Fatal(err)
	}
	defer unix.Kill(pid, unix.SIGCONT)
	if st := s.status(t); st.State != terminal.StateRunning {
		t.Errorf("state %s", st.State)
	}
	if ids, err := p.List(testContext(t)); err != nil || !slices.Equal(ids, []string{s.id}) {
		t.Errorf("list %q, %v, want %q", ids, err, s.id)
	}
	short, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	if got, err := p.Reap(short, nobodyKnows); err == nil {
		t.Errorf("reaped %q", got)
	}
	if err := s.Remove(testContext(t)); !errors.Is(err, terminal.ErrRunning) {
		t.Errorf("remove: %v, want %v", err, terminal.ErrRunning)
	}
	if err := p.Usable(short); err == nil || !strings.Contains(err.Error(), "does not answer") {
		t.Errorf("usable: %v", err)
	}
	unix.Kill(pid, unix.SIGCONT)
	s.types(t, "\n")
	if e := s.exit(t); e.Code != 3 {
		t.Errorf("exit %+v", e)
	}
}

func TestSecretsAreInNeitherArgvNorEnvironment(t *testing.T) {
	const secret = "hunter2-AKIA-token"
	t.Setenv("ANTHROPIC_API_KEY", secret) // the server's own
	p := newPlace(t)
	s := p.start(t, `echo "[$TOKEN]"; read x; echo READY; read x`, "TOKEN="+secret)
	s.printed(t, "["+secret+"]")
	s.types(t, "\n")
	s.printed(t, "READY")
	for _, args := range [][]string{
		{"show-environment", "-g"}, {"show-environment", "-t", tmux.PaneTarget(s.id)}, {"list-buffers"},
		{"list-panes", "-a", "-F", "#{pane_start_command}"}, {"show-messages", "-JT"},
	} {
		out, err := p.byHand(args...)
		if err == nil && strings.Contains(out, secret) {
			t.Errorf("tmux %v shows the secret: %s", args, out)
		}
	}
	for key := range strings.Lines(p.command(t, "show-environment", "-g")) {
		key, _, _ = strings.Cut(strings.TrimSuffix(key, "\n"), "=")
		if !slices.Contains([]string{"LC_ALL", "TERM", "HOME", "USER", "LOGNAME", "SHELL", "PATH", "TZ", "PWD"}, key) {
			t.Errorf("tmux's environment has %s", key)
		}
	}
	all, err := exec.Command("ps", "-A", "-ww", "-o", "args=").Output()
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(all), secret) {
		t.Error("a command line shows the secret")
	}
	for _, dir := range []string{s.dir, p.o.Runtime} {
		checkSecret(t, dir, secret)
	}
}

// checkSecret looks for a secret, and for who may read, in a directory.
func checkSecret(t *testing.T, dir, secret string) {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		info, err := f.Info()
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", f.Name(), info.Mode())
		}
		if !info.Mode().IsRegular() {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil || strings.Contains(string(data), secret) {
			t.Errorf("%s holds the secret, or %v", f.Name(), err)
		}
	}
}

// failsToStart returns the error of a start that must leave nothing behind.
func (p *place) failsToStart(t *testing.T, spec terminal.Spec) *terminal.StartError {
	t.Helper()
	_, err := p.Start(testContext(t), spec)
	failed, ok := errors.AsType[*terminal.StartError](err)
	if !ok {
		t.Fatalf("start: %v, want a StartError", err)
	}
	if ids, err := p.List(testContext(t)); err != nil || len(ids) != 0 {
		t.Errorf("sessions %q, %v are left", ids, err)
	}
	eventually(t, "no tmux session is left", func() bool {
		_, err := p.byHand("has-session", "-t", "="+spec.ID)
		return err != nil
	})
	return failed
}

// TestASessionWhoseMarkIsRefusedIsEnded: nothing is left behind.
func TestASessionWhoseMarkIsRefusedIsEnded(t *testing.T) {
	for name, tt := range map[string]struct{ do, want string }{ // the real one, but for the mark
		"refused": {`[ "$a" = ` + tmux.OwnerOption + ` ] && a=no-such-option`, "no-such-option"},
		"another": {`[ "$b" = ` + tmux.OwnerOption + ` ] && [ "$a" != ";" ] && a=/elsewhere; b=$a`, "owner mark"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t, func(o *tmux.Options) {
				o.Tmux = script(t, `for a; do shift; `+tt.do+`; set -- "$@" "$a"; done; exec tmux "$@"`)
			})
			failed := p.failsToStart(t, specOf("/bin/sh", "-c", "read x"))
			if !failed.Host || !strings.Contains(failed.Error(), tt.want) {
				t.Errorf("start: %v, want the host's error %q", failed, tt.want)
			}
		})
	}
}

// TestAMissingDirectoryIsNotHOME: tmux would start the program in $HOME.
func TestAMissingDirectoryIsNotHOME(t *testing.T) {
	p := newPlace(t)
	root := testenv.ShortDir(t)
	private, file := filepath.Join(root, "private"), filepath.Join(root, "file")
	if err := errors.Join(os.Mkdir(private, 0o000), os.WriteFile(file, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	dirs := map[string]error{filepath.Join(root, "gone"): unix.ENOENT, file: unix.ENOTDIR}
	if os.Getuid() != 0 { // root may enter
		dirs[private] = unix.EACCES
	}
	for dir, want := range dirs {
		ran := filepath.Join(root, "ran")
		spec := specOf("/usr/bin/touch", ran)
		spec.Env, spec.Dir = []string{"HOME=" + root}, dir
		failed := p.failsToStart(t, spec)
		if !strings.Contains(failed.Error(), dir) || failed.Host || dir != file && !errors.Is(failed, want) {
			t.Errorf("start in %s: %v, want %v", dir, failed, want)
		}
		if _, err := os.Stat(ran); err == nil {
			t.Errorf("the program ran although %s is no directory", dir)
		}
	}
}

// TestAProgramThatCannotStart: the error names it, and the system's reason.
func TestAProgramThatCannotStart(t *testing.T) {
	p := newPlace(t)
	dir := testenv.ShortDir(t)
	text, loop := filepath.Join(dir, "text"), filepath.Join(dir, "loop")
	if err := errors.Join(os.WriteFile(text, []byte("x"), 0o600), os.Symlink(loop, loop)); err != nil {
		t.Fatal(err)
	}
	for program, want := range map[string]error{
		filepath.Join(dir, "none"): unix.ENOENT, text: unix.EACCES, loop: unix.ELOOP, dir: unix.EACCES,
	} {
		failed := p.failsToStart(t, specOf(program))
		if !errors.Is(failed, want) || !strings.Contains(failed.Error(), program) || failed.Host {
			t.Errorf("start of %s: %v, want %v", program, failed, want)
		}
	}
}

func TestNotUsable(t *testing.T) {
	root := testenv.ShortDir(t)
	for _, tt := range []struct {
		name string
		o    tmux.Options
		want string
	}{
		{"broken", tmux.Options{Tmux: script(t, "echo no libevent >&2; exit 127")}, "no libevent"},
		{"another program", tmux.Options{Tmux: script(t, "echo something else")}, "something else"},
		{"too old", tmux.Options{Tmux: script(t, "echo tmux 2.9a")}, "3.0 or newer"},
		{"missing", tmux.Options{Tmux: filepath.Join(root, "none")}, "no such file"},
		{"path too long", tmux.Options{Runtime: filepath.Join(root, strings.Repeat("x", 100))}, "shorter runtime directory"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newPlace(t, func(o *tmux.Options) {
				o.Tmux = tt.o.Tmux
				if tt.o.Runtime != "" {
					o.Runtime = tt.o.Runtime
				}
			})
			if err := p.Usable(testContext(t)); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("usable: %v, want %q", err, tt.want)
			}
			if failed := p.failsToStart(t, specOf("/bin/true")); !failed.Host || !strings.Contains(failed.Error(), tt.want) {
				t.Errorf("start: %v, want the host's %q", failed, tt.want)
			}
		})
	}
}

// TestAnUpgradedTmuxIsLookedAtAgain: the version belongs to the file as it was.
func TestAnUpgradedTmuxIsLookedAtAgain(t *testing.T) {
	program, real := script(t, ""), testenv.RequireTool(t, "tmux")
	s := tmux.New(tmux.Options{Runtime: testenv.ShortDir(t), Tmux: program})
	for _, x := range []struct {
		prints string
		usable bool
	}{{"tmux 2.9a", false}, {"tmux 3.3a and newer", true}, {"tmux 1.8", false}} {
		testenv.WriteProgram(t, program, "#!/bin/sh\nif [ $1 = -V ]; then echo "+x.prints+"; else exec "+real+" \"$@\"; fi\n")
		if err := s.Usable(testContext(t)); (err == nil) != x.usable {
			t.Errorf("%s: %v", x.prints, err)
		}
	}
	if err := os.Remove(program); err != nil {
		t.Fatal(err)
	}
	if err := s.Usable(testContext(t)); err == nil {
		t.Error("usable without tmux")
	}
}

// TestSessionsAreFoundWithoutTmux: a server that starts again asks tmux about
// none of them.
func TestSessionsAreFoundWithoutTmux(t *testing.T) {
	calls := filepath.Join(testenv.ShortDir(t), "calls")
	p := newPlace(t, func(o *tmux.Options) {
		o.Tmux = script(t, `echo "$*" >>`+calls+`; exec tmux "$@"`)
	})
	var ids []string
	for range 3 {
		ids = append(ids, p.start(t, "read x").id)
	}
	if err := os.Remove(calls); err != nil {
		t.Fatal(err)
	}
	_, again := p.another()
	found, err := again.List(testContext(t))
	slices.Sort(ids)
	slices.Sort(found)
	if err != nil || !slices.Equal(ids, found) {
		t.Fatalf("sessions %q, %v, want %q", found, err, ids)
	}
	for _, id := range found {
		if st, err := again.Session(id).Status(testContext(t)); err != nil || st.State != terminal.StateRunning || st.Backend != tmux.Name {
			t.Errorf("status %+v, %v", st, err)
		}
	}
	if made, err := os.ReadFile(calls); err == nil {
		t.Errorf("tmux was called: %s", made)
	}
}
