//go:build unix

package tmux

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"middleman/terminal"
)

// What a user does by hand in our tmux server.

// TestAWindowSplitByHand: what is typed, captured and stopped is our pane.
func TestAWindowSplitByHand(t *testing.T) {
	for _, how := range [][]string{{"split-window", "-t"}, {"new-window", "-t"}} {
		t.Run(how[0], func(t *testing.T) {
			b := newBackend(t)
			s := start(t, b, `echo READY; while read x; do echo "got $x."; done`)
			printed(t, s, "READY")
			theirs := strings.TrimSpace(command(t, b, how[0], how[1], paneTarget(s.id), "-P", "-F", "#{pane_id}", "sh"))
			if err := s.Input(testContext(t), []byte("sent\n")); err != nil {
				t.Fatal(err)
			}
			printed(t, s, "got sent.")
			shot, err := s.Capture(testContext(t), terminal.CaptureOptions{Format: terminal.FormatText})
			if err != nil || !strings.Contains(string(shot.Data), "got sent.") {
				t.Errorf("captured %q, %v", shot.Data, err)
			}
			a, err := s.Attach(testContext(t), terminal.AttachOptions{Mode: terminal.ModeAttach, Size: terminal.DefaultSize})
			if err != nil {
				t.Fatal(err)
			}
			defer a.Close()
			if err := a.Input([]byte("typed\r")); err != nil {
				t.Fatal(err)
			}
			printed(t, s, "got typed.")
			if err := s.Stop(testContext(t), -1); err != nil {
				t.Error(err)
			}
			if got := command(t, b, "list-panes", "-a", "-F", "#{pane_id}"); got != theirs+"\n" {
				t.Errorf("panes that are left: %q, want %q", got, theirs)
			}
			command(t, b, "kill-pane", "-t", theirs)
		})
	}
}

// TestRenamedAndMovedByHand: the session is found by its mark.
func TestRenamedAndMovedByHand(t *testing.T) {
	for _, how := range [][]string{
		{"rename-session", "-t", "SESSION", "work"},
		{"move-window", "-s", "SESSION", "-t", "other:7"},
		{"break-pane", "-d", "-s", "SESSION", "-t", "other:7"},
	} {
		t.Run(how[0], func(t *testing.T) {
			b := newBackend(t)
			s := start(t, b, `echo READY; read x; echo "got $x."; exit 5`)
			printed(t, s, "READY")
			command(t, b, "new-session", "-d", "-s", "other", "sleep", "1000")
			for i, word := range how {
				how[i] = strings.Replace(word, "SESSION", paneTarget(s.id), 1)
			}
			if how[0] == "break-pane" { // tmux before 3.2 does so only where there are two
				command(t, b, "split-window", "-d", "-t", paneTarget(s.id), "sleep 1000")
			}
			command(t, b, how...)
			if how[0] == "break-pane" {
				command(t, b, "kill-session", "-t", "="+s.id)
			}
			if st := stateOf(t, s); st.State != terminal.StateRunning || st.Source != "tmux" {
				t.Fatalf("status %+v", st)
			}
			a, err := s.Attach(testContext(t), terminal.AttachOptions{Mode: terminal.ModeAttach, Size: terminal.DefaultSize})
			if err != nil {
				t.Fatal(err)
			}
			received(t, a, "READY")
			if err := a.Close(); err != nil {
				t.Error(err)
			}
			if err := s.Input(testContext(t), []byte("it\n")); err != nil {
				t.Fatal(err)
			}
			eventually(t, "exit", func() bool { return stateOf(t, s).State.Ended() })
			if st := stateOf(t, s); st.Exit == nil || st.Exit.Code != 5 || !strings.Contains(outputOf(t, s), "got it.") {
				t.Errorf("status %+v", st)
			}
			eventually(t, "nothing left", func() bool {
				return command(t, b, "list-sessions", "-F", "#{session_name}") == "other\n"
			})
			command(t, b, "kill-session", "-t", "other")
		})
	}
}

// TestAUsersConfEndsNothing: settings and hooks with which no session lives.
func TestAUsersConfEndsNothing(t *testing.T) {
	for _, conf := range []string{
		"set -g destroy-unattached on",
		"set -s exit-unattached on",
		"set -g remain-on-exit off",
		"set-hook -g after-new-session 'rename-session foo'",
		"set-hook -g session-created 'split-window'",
		"set-hook -g after-new-session 'kill-pane'",
	} {
		t.Run(conf, func(t *testing.T) {
			b := newBackend(t)
			if err := os.MkdirAll(b.o.Config, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(b.userConf(), []byte(conf+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			s := start(t, b, "echo READY; read x; exit 3")
			printed(t, s, "READY")
			if got := command(t, b, "list-panes", "-a", "-F", "#{session_name}"); got != s.id+"\n" {
				t.Errorf("panes of %q", got)
			}
			if err := s.Input(testContext(t), []byte("\n")); err != nil {
				t.Fatal(err)
			}
			eventually(t, "exit", func() bool { return stateOf(t, s).Exit != nil })
			if st := stateOf(t, s); st.Exit.Code != 3 {
				t.Errorf("exit %+v", st.Exit)
			}
		})
	}
}

// TestAConfThatBlocksIsNamed: and nothing is left of the start.
func TestAConfThatBlocksIsNamed(t *testing.T) {
	b := newBackend(t)
	if err := os.MkdirAll(b.o.Config, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(b.userConf(), []byte("run-shell 'sleep 5'\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(testContext(t), time.Second)
	defer cancel()
	spec := terminal.Spec{ID: terminal.NewID("s"), Argv: []string{"/bin/sh", "-c", "read x"}, Dir: "/"}
	_, err := b.Start(ctx, spec)
	if err == nil || !strings.Contains(err.Error(), b.userConf()) || !strings.Contains(err.Error(), "does not answer") {
		t.Errorf("start: %v, want one that names %s", err, b.userConf())
	}
	if ids, err := b.List(testContext(t)); err != nil || len(ids) != 0 {
		t.Errorf("sessions %q, %v are left", ids, err)
	}
}

// TestAPipeByHandEndsNothing: a user's pipe-pane takes the journal's place, and
// loses it again; the program does not notice.
func TestAPipeByHandEndsNothing(t *testing.T) {
	b := newBackend(t)
	s := start(t, b, `echo READY; while read x; do echo "got $x."; done`)
	printed(t, s, "READY")
	command(t, b, "pipe-pane", "-t", paneTarget(s.id), "cat > /dev/null")
	eventually(t, "a journal again", func() bool {
		if err := s.Input(testContext(t), []byte("more\n")); err != nil {
			t.Fatal(err)
		}
		r, err := s.Output(testContext(t), 0)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		_, err = r.Read(make([]byte, 1<<16)) // up to the gap
		for err == nil {
			_, err = r.Read(make([]byte, 1<<16))
		}
		_, _, gap := terminal.Gap(err)
		return gap
	})
	if st := stateOf(t, s); st.State != terminal.StateRunning {
		t.Errorf("status %+v", st)
	}
}

// TestASocketThatIsRemovedIsMadeAgain: by the server that has the sessions; no
// other is started beside it.
func TestASocketThatIsRemovedIsMadeAgain(t *testing.T) {
	b := newBackend(t)
	pid := func() string { return strings.TrimSpace(command(t, b, "display-message", "-p", "#{pid}")) }
	s := start(t, b, "read x")
	before := pid()
	for _, then := range []struct {
		name string
		do   func() error
	}{
		{"status", func() error { _, err := s.Status(testContext(t)); return err }},
		{"capture", func() error { _, err := s.Capture(testContext(t), terminal.CaptureOptions{}); return err }},
		{"start", func() error { start(t, b, "read x"); return nil }},
	} {
		if err := os.Remove(b.socket()); err != nil {
			t.Fatal(err)
		}
		if err := then.do(); err != nil {
			t.Errorf("%s: %v", then.name, err)
		}
		if now := pid(); now != before {
			t.Fatalf("%s: server %s, was %s", then.name, now, before)
		}
	}
}

// TestAJournalHelperWithoutALauncherEnds: it waits for one as long as that
// would wait for it.
func TestAJournalHelperWithoutALauncherEnds(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := openHelperFIFO(fifo, 20*time.Millisecond); !errors.Is(err, unix.ENXIO) {
		t.Errorf("without a reader: %v", err)
	}
	r, err := os.OpenFile(fifo, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	w, err := openHelperFIFO(fifo, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	w.Close()
}

// TestAnotherServersPaneIsNotTouched: a new server gives a pane of its own the
// id that ours had.
func TestAnotherServersPaneIsNotTouched(t *testing.T) {
	b := newBackend(t)
	s := start(t, b, "read x")
	at, err := s.dir.target()
	if err != nil {
		t.Fatal(err)
	}
	command(t, b, "kill-server")
	eventually(t, "lost", func() bool { return stateOf(t, s).State == terminal.StateLost })
	other := start(t, b, `while read x; do echo "got $x."; done`)
	if now, err := other.dir.target(); err != nil || now.pane != at.pane {
		t.Skipf("tmux gave pane %s, not %s", now.pane, at.pane)
	}
	srv := server{tmux: "tmux", socket: b.socket()}
	ctx := testContext(t)
	_, screenErr := srv.screen(ctx, at)
	for name, err := range map[string]error{
		"paste": srv.paste(ctx, at, []byte("x\n")), "resize": srv.resize(ctx, at, terminal.Size{Cols: 10, Rows: 10}), "screen": screenErr,
	} {
		if !errors.Is(err, terminal.ErrGone) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := srv.kill(ctx, at); err != nil {
		t.Error(err)
	}
	if st := stateOf(t, other); st.State != terminal.StateRunning || st.Size.Cols != 80 || outputOf(t, other) != "" {
		t.Errorf("status %+v, output %q", st, outputOf(t, other))
	}
	if got := command(t, b, "list-buffers"); got != "" {
		t.Errorf("buffers were left: %q", got)
	}
	if pid, err := strconv.Atoi(strings.TrimSpace(command(t, b, "display-message", "-p", "#{pid}"))); err != nil || pid == 0 {
		t.Error(err)
	}
}
