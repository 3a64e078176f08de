//go:build unix

package tmux

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
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"middleman/terminal"
)

func testContext(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// start starts a shell script.
func start(t testing.TB, b *Backend, script string, env ...string) *session {
	t.Helper()
	spec := terminal.Spec{
		ID: terminal.NewID("s"), Argv: []string{"/bin/sh", "-c", script}, Dir: "/",
		Env: append([]string{"PATH=" + os.Getenv("PATH")}, env...), Grace: time.Second,
	}
	if _, err := b.Start(testContext(t), spec); err != nil {
		t.Fatal(err)
	}
	return b.session(spec.ID)
}

func eventually(t testing.TB, what string, is func() bool) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !is() {
		if time.Now().After(deadline) {
			t.Fatalf("not in time: %s", what)
		}
		<-tick.C
	}
}

func stateOf(t testing.TB, s *session) terminal.Status {
	t.Helper()
	st, err := s.Status(testContext(t))
	if errors.Is(err, terminal.ErrUnreachable) {
		return terminal.Status{State: terminal.StateUnreachable}
	}
	if err != nil {
		t.Fatal(err)
	}
	return st
}

func outputOf(t testing.TB, s *session) string {
	t.Helper()
	return outputFrom(t, s, 0)
}

func outputFrom(t testing.TB, s *session, from uint64) string {
	t.Helper()
	r, err := s.Output(testContext(t), from)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func printed(t testing.TB, s *session, text string) {
	t.Helper()
	eventually(t, "output "+text, func() bool { return strings.Contains(outputOf(t, s), text) })
}

// command runs tmux at b's server, as a user does by hand.
func command(t testing.TB, b *Backend, args ...string) string {
	t.Helper()
	out, err := server{tmux: "tmux", socket: b.socket()}.run(testContext(t), nil, args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestTheUsersOwnTmuxIsUntouched(t *testing.T) {
	b := newBackend(t)
	root := shortDir(t)
	socket := filepath.Join(root, "user.sock")
	user := server{tmux: "tmux", socket: socket}
	ctx := testContext(t)
	if _, err := user.run(ctx, nil, "new-session", "-d", "-s", "mine", "--", "sleep", "1000"); err != nil {
		t.Fatal(err)
	}
	defer user.run(ctx, nil, "kill-server")
	look := func() string {
		out, err := user.run(ctx, nil, "list-sessions", "-F", "#{session_name} #{session_id}",
			";", "show-options", "-g", ";", "show-environment", "-g", ";", "list-panes", "-a", "-F", "#{pane_pid} #{pane_dead}")
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	before := look()
	t.Setenv("TMUX", socket+",1,0")
	t.Setenv("TMUX_PANE", "%0")
	s := start(t, b, `echo "[$TMUX$TMUX_PANE]"; read x`)
	printed(t, s, "[]")
	a, err := s.Attach(ctx, terminal.AttachOptions{Mode: terminal.ModeAttach})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	if err := s.Stop(ctx, -1); err != nil {
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
	b := newBackend(t)
	ctx := testContext(t)
	s := start(t, b, "echo READY; read x")
	sibling := s.id + "x"
	command(t, b, "new-session", "-d", "-s", sibling, "-x", "80", "-y", "24", "--", "sh", "-c", "read x")
	command(t, b, "kill-session", "-t", "="+s.id)
	eventually(t, "lost", func() bool { return stateOf(t, s).State == terminal.StateLost })
	srv := server{tmux: "tmux", socket: b.socket()}
	at, err := s.dir.target()
	if err != nil {
		t.Fatal(err)
	}
	if err := srv.paste(ctx, at, []byte("x\n")); err == nil {
		t.Error("input went to some session")
	}
	if err := srv.resize(ctx, at, terminal.Size{Cols: 10, Rows: 10}); err == nil {
		t.Error("some session was resized")
	}
	if _, err := srv.screen(ctx, at); err == nil {
		t.Error("some session was captured")
	}
	if err := srv.kill(ctx, at); err != nil {
		t.Errorf("ending a session that is gone: %v", err)
	}
	if err := s.Stop(ctx, -1); err != nil {
		t.Error(err)
	}
	if err := s.Remove(ctx); err != nil {
		t.Error(err)
	}
	if got := command(t, b, "list-panes", "-a", "-F", "#{session_name} #{pane_width} #{pane_dead}"); got != sibling+" 80 0\n" {
		t.Errorf("sessions are %q", got)
	}
	if got := command(t, b, "list-buffers"); got != "" {
		t.Errorf("buffers were left: %q", got)
	}
}

// TestForeignSessionsAreNotReaped: only a session with our mark whose state is
// gone is ended.
func TestForeignSessionsAreNotReaped(t *testing.T) {
	b := newBackend(t)
	ctx := testContext(t)
	known := func(id string) (bool, error) { return false, nil }
	if got, err := b.Reap(ctx, known); err != nil || len(got) != 0 {
		t.Errorf("without a server: %q, %v", got, err)
	}
	kept := start(t, b, "read x")
	foreign, other, orphan := terminal.NewID("s"), terminal.NewID("s"), terminal.NewID("s")
	for _, name := range []string{foreign, other, orphan, "work"} {
		command(t, b, "new-session", "-d", "-s", name, "--", "sh", "-c", "read x")
	}
	for id, mark := range map[string]string{other: "/elsewhere/" + other, orphan: b.mark(orphan)} {
		command(t, b, "set-option", "-p", "-t", paneTarget(id), ownerOption, mark,
			";", "set-option", "-p", "-t", paneTarget(id), paneOption, id)
	}
	if got, err := b.Reap(ctx, func(string) (bool, error) { return true, nil }); err != nil || len(got) != 0 {
		t.Errorf("a session that has a row was reaped: %q, %v", got, err)
	}
	if got, err := b.Reap(ctx, func(string) (bool, error) { return false, io.ErrUnexpectedEOF }); !errors.Is(err, io.ErrUnexpectedEOF) || len(got) != 0 {
		t.Errorf("without an answer about rows: %q, %v", got, err)
	}
	got, err := b.Reap(ctx, known)
	if err != nil || !slices.Equal(got, []string{orphan}) {
		t.Errorf("reaped %q, %v, want %q", got, err, orphan)
	}
	left := strings.Fields(command(t, b, "list-sessions", "-F", "#{session_name}"))
	want := []string{kept.id, foreign, other, "work"}
	slices.Sort(want)
	slices.Sort(left)
	if !slices.Equal(left, want) {
		t.Errorf("sessions left %q, want %q", left, want)
	}
	for _, name := range []string{foreign, other, "work"} {
		command(t, b, "kill-session", "-t", "="+name)
	}
}

// TestAServerThatDoesNotAnswerIsNotDead: a probe that fails is an error, and
// hides no session.
func TestAServerThatDoesNotAnswerIsNotDead(t *testing.T) {
	b := newBackend(t)
	s := start(t, b, "read x")
	pid, err := strconv.Atoi(strings.TrimSpace(command(t, b, "display-message", "-p", "#{pid}")))
	if err != nil {
		t.Fatal(err)
	}
	unix.Kill(pid, unix.SIGSTOP)
	defer unix.Kill(pid, unix.SIGCONT)
	short, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	if st, err := s.Status(short); !errors.Is(err, terminal.ErrUnreachable) {
		t.Errorf("status %+v, %v, want %v", st, err, terminal.ErrUnreachable)
	}
	if ids, err := b.List(testContext(t)); err != nil || !slices.Equal(ids, []string{s.id}) {
		t.Errorf("list %q, %v, want %q", ids, err, s.id)
	}
	if got, err := b.Reap(short, func(string) (bool, error) { return false, nil }); err == nil {
		t.Errorf("reaped %q", got)
	}
	if err := s.Remove(testContext(t)); !errors.Is(err, terminal.ErrRunning) {
		t.Errorf("remove: %v, want %v", err, terminal.ErrRunning)
	}
	if err := b.Usable(short); err == nil || !strings.Contains(err.Error(), "does not answer") {
		t.Errorf("usable: %v", err)
	}
	unix.Kill(pid, unix.SIGCONT)
	if st := stateOf(t, s); st.State != terminal.StateRunning {
		t.Errorf("state %s afterwards", st.State)
	}
}

func TestSecretsAreInNeitherArgvNorEnvironment(t *testing.T) {
	const secret = "hunter2-AKIA-token"
	t.Setenv("ANTHROPIC_API_KEY", secret) // the server's own
	b := newBackend(t)
	s := start(t, b, `echo "[$TOKEN]"; read x; echo READY; read x`, "TOKEN="+secret)
	printed(t, s, "["+secret+"]")
	if err := s.Input(testContext(t), []byte("\n")); err != nil {
		t.Fatal(err)
	}
	printed(t, s, "READY")
	for _, args := range [][]string{
		{"show-environment", "-g"}, {"show-environment", "-t", paneTarget(s.id)}, {"list-buffers"},
		{"list-panes", "-a", "-F", "#{pane_start_command}"}, {"show-messages", "-JT"},
	} {
		out, err := server{tmux: "tmux", socket: b.socket()}.run(testContext(t), nil, args...)
		if err == nil && strings.Contains(out, secret) {
			t.Errorf("tmux %v shows the secret: %s", args, out)
		}
	}
	for key := range strings.Lines(command(t, b, "show-environment", "-g")) {
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
	files, err := os.ReadDir(string(s.dir))
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
		b, err := os.ReadFile(s.dir.path(f.Name()))
		if err == nil && strings.Contains(string(b), secret) {
			t.Errorf("%s holds the secret", f.Name())
		}
	}
}

// TestASessionWhoseMarkIsRefusedIsEnded: nothing is left behind.
func TestASessionWhoseMarkIsRefusedIsEnded(t *testing.T) {
	b := newBackend(t)
	b.o.Tmux = filepath.Join(shortDir(t), "tmux") // the real one, but for the mark
	script := `#!/bin/sh
		for a; do shift; [ "$a" = "` + ownerOption + `" ] && a=no-such-option; set -- "$@" "$a"; done
		exec tmux "$@"` + "\n"
	if err := os.WriteFile(b.o.Tmux, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	spec := terminal.Spec{ID: terminal.NewID("s"), Argv: []string{"/bin/sh", "-c", "read x"}, Dir: "/"}
	_, err := b.Start(testContext(t), spec)
	var failed *terminal.StartError
	if !errors.As(err, &failed) || failed.Step != "tmux" || !strings.Contains(err.Error(), "no-such-option") {
		t.Fatalf("start: %v, want a StartError of step tmux", err)
	}
	if ids, err := b.List(testContext(t)); err != nil || len(ids) != 0 {
		t.Errorf("sessions %q, %v are left; start: %v", ids, err, failed)
	}
	srv := server{tmux: "tmux", socket: b.socket()}
	eventually(t, "no session", func() bool {
		there, err := srv.hasPane(testContext(t), spec.ID)
		return err == nil && !there
	})
}

// TestAMissingDirectoryIsNotHOME: tmux would start the program in $HOME.
func TestAMissingDirectoryIsNotHOME(t *testing.T) {
	b := newBackend(t)
	root := shortDir(t)
	private := filepath.Join(root, "private")
	if err := os.Mkdir(private, 0o000); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(root, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	dirs := map[string]error{filepath.Join(root, "gone"): unix.ENOENT, file: unix.ENOTDIR}
	if os.Getuid() != 0 { // root may enter
		dirs[private] = unix.EACCES
	}
	for dir, want := range dirs {
		ran := filepath.Join(root, "ran")
		spec := terminal.Spec{ID: terminal.NewID("s"), Argv: []string{"/usr/bin/touch", ran}, Env: []string{"HOME=" + root}, Dir: dir}
		_, err := b.Start(testContext(t), spec)
		var failed *terminal.StartError
		if !errors.As(err, &failed) || failed.Step != "directory" || !errors.Is(err, want) || !strings.Contains(err.Error(), dir) {
			t.Errorf("start in %s: %v, want %v", dir, err, want)
		}
		if _, err := os.Stat(ran); err == nil {
			t.Errorf("the program ran although %s is no directory", dir)
		}
	}
	if ids, err := b.List(testContext(t)); err != nil || len(ids) != 0 {
		t.Errorf("sessions %q, %v are left", ids, err)
	}
}

func TestNotUsable(t *testing.T) {
	root := shortDir(t)
	old := filepath.Join(root, "tmux")
	if err := os.WriteFile(old, []byte("#!/bin/sh\necho tmux 2.9a\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	broken := filepath.Join(root, "broken")
	if err := os.WriteFile(broken, []byte("#!/bin/sh\necho no libevent >&2; exit 127\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(root, "other")
	if err := os.WriteFile(other, []byte("#!/bin/sh\necho something else\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		o    Options
		want string
	}{
		{"broken", Options{Runtime: root, Tmux: broken}, "no libevent"},
		{"another program", Options{Runtime: root, Tmux: other}, "something else"},
		{"too old", Options{Runtime: root, Tmux: old}, "3.0 or newer"},
		{"missing", Options{Runtime: root, Tmux: filepath.Join(root, "none")}, "no such file"},
		{"path too long", Options{Runtime: filepath.Join(root, strings.Repeat("x", 100))}, "shorter runtime directory"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.o.Sessions = filepath.Join(root, "sessions")
			b := New(tt.o)
			if err := b.Usable(testContext(t)); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("usable: %v, want %q", err, tt.want)
			}
			_, err := b.Start(testContext(t), terminal.Spec{ID: terminal.NewID("s"), Argv: []string{"/bin/true"}, Dir: "/"})
			var failed *terminal.StartError
			if !errors.As(err, &failed) {
				t.Errorf("start: %v, want a StartError", err)
			}
			if ids, err := b.List(testContext(t)); err != nil || len(ids) != 0 {
				t.Errorf("sessions %q, %v", ids, err)
			}
		})
	}
}

// TestAllSessionsAreFoundInOneCallOfTmux: a server that starts again asks tmux
// about all of them at once.
func TestAllSessionsAreFoundInOneCallOfTmux(t *testing.T) {
	b := newBackend(t)
	root := shortDir(t)
	calls := filepath.Join(root, "calls")
	b.o.Tmux = filepath.Join(root, "tmux")
	script := "#!/bin/sh\necho \"$*\" >>" + calls + "\nexec tmux \"$@\"\n"
	if err := os.WriteFile(b.o.Tmux, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	n := 50
	if testing.Short() {
		n = 20
	}
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			_, err := b.Start(testContext(t), terminal.Spec{ID: terminal.NewID("s"), Argv: []string{"/bin/cat"}, Dir: "/"})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	again := New(b.o)
	ids, err := again.List(testContext(t))
	if err != nil || len(ids) != n {
		t.Fatalf("%d sessions, %v, want %d", len(ids), err, n)
	}
	if err := os.Remove(calls); err != nil {
		t.Fatal(err)
	}
	states := make([]terminal.Status, n)
	for i, id := range ids {
		wg.Go(func() { states[i] = stateOf(t, again.session(id)) })
	}
	wg.Wait()
	for _, st := range states {
		if st.State != terminal.StateRunning || st.Source != "tmux" {
			t.Errorf("status %+v", st)
		}
	}
	made, err := os.ReadFile(calls)
	if err != nil {
		t.Fatal(err)
	}
	// Those that ask while a call is under way share the next one.
	if got := strings.Count(string(made), "\n"); got > n/5 {
		t.Errorf("%d sessions took %d calls of tmux", n, got)
	} else {
		t.Logf("%d sessions took %d calls of tmux", n, got)
	}
}

func TestTheUsersTmuxConfIsRead(t *testing.T) {
	b := newBackend(t)
	if err := os.MkdirAll(b.o.Config, 0o700); err != nil {
		t.Fatal(err)
	}
	conf := filepath.Join(b.o.Config, "tmux.conf")
	if err := os.WriteFile(conf, []byte("set -g @mine 'yes'\nset -g history-limit 77\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := start(t, b, "read x")
	if got := command(t, b, "show-options", "-gv", "@mine", ";", "display-message", "-p", "-t", paneTarget(s.id), "#{history_limit}"); got != "yes\n77\n" {
		t.Errorf("the user's settings are %q", got)
	}
	if got := b.Complaint(); got != "" {
		t.Errorf("complaint %q", got)
	}
}

// TestABrokenTmuxConfIsOneError: sessions start, nothing is drawn over them,
// and what tmux says is told. It takes nothing of a file that it cannot parse.
func TestABrokenTmuxConfIsOneError(t *testing.T) {
	for _, tt := range []struct{ name, conf, said, mine string }{
		{"unknown command", "set -g @mine yes\nno-such-command x\n", "no-such-command", "\n"},
		{"unknown option", "set -g no-such-option x\nset -g @mine yes\n", "no-such-option", "yes\n"},
		{"syntax", "set -g @mine yes\nif-shell {\n", "tmux.conf:", "\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBackend(t)
			if err := os.MkdirAll(b.o.Config, 0o700); err != nil {
				t.Fatal(err)
			}
			conf := b.userConf()
			if err := os.WriteFile(conf, []byte(tt.conf), 0o600); err != nil {
				t.Fatal(err)
			}
			s := start(t, b, "echo READY; read x")
			start(t, b, "read x")
			if got := b.Complaint(); strings.Count(got, tt.said) != 1 {
				t.Errorf("complaint %q", got)
			}
			if got := command(t, b, "display-message", "-p", "#{@mine}"); got != tt.mine {
				t.Errorf("what is right of it is %q", got)
			}
			a, err := s.Attach(testContext(t), terminal.AttachOptions{Mode: terminal.ModeAttach, Size: terminal.DefaultSize})
			if err != nil {
				t.Fatal(err)
			}
			if got := received(t, a, "READY"); strings.Contains(got, conf) {
				t.Errorf("drawn over the session: %q", got)
			}
			if err := a.Close(); err != nil {
				t.Error(err)
			}
			later := time.Now().Add(time.Minute)
			if err := os.Chtimes(conf, later, later); err != nil {
				t.Fatal(err)
			}
			if got := b.Complaint(); got != "" {
				t.Errorf("complaint %q about a file that has changed", got)
			}
		})
	}
}

// TestAnUpgradedTmuxIsLookedAtAgain: the version belongs to the file as it was.
func TestAnUpgradedTmuxIsLookedAtAgain(t *testing.T) {
	b := New(Options{Runtime: shortDir(t), Tmux: filepath.Join(shortDir(t), "tmux")})
	for _, x := range []struct {
		prints string
		usable bool
	}{{"tmux 2.9a", false}, {"tmux 3.3a and newer", true}, {"tmux 1.8", false}} {
		if err := os.WriteFile(b.o.Tmux, []byte("#!/bin/sh\necho "+x.prints+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := b.Usable(testContext(t)); (err == nil) != x.usable {
			t.Errorf("%s: %v", x.prints, err)
		}
	}
	if err := os.Remove(b.o.Tmux); err != nil {
		t.Fatal(err)
	}
	if err := b.Usable(testContext(t)); err == nil {
		t.Error("usable without tmux")
	}
}
