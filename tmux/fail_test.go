//go:build unix

package tmux_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"middleman/internal/testenv"
	"middleman/terminal"
	"middleman/terminal/host"
	"middleman/tmux"
)

// TestExitOfAStoppedTerminal: ctrl-s holds neither the exit nor a byte back.
func TestExitOfAStoppedTerminal(t *testing.T) {
	p := newPlace(t)
	s := p.start(t, `echo READY; read x; exit 7`)
	s.printed(t, "READY")
	s.types(t, "\n\x13")
	if e := s.exit(t); e.Code != 7 {
		t.Errorf("exit %+v", e)
	}
}

// TestStopAfterTheExitFindsBackgroundJobs: the launcher stays as their
// subreaper.
func TestStopAfterTheExitFindsBackgroundJobs(t *testing.T) {
	p := newPlace(t)
	s := p.start(t, `trap "" HUP TERM; setsid sh -c 'echo $$.; exec sleep 1000' & read x; exit 7`)
	s.printed(t, ".")
	pid, err := strconv.Atoi(strings.TrimSuffix(s.output(t), ".\r\n"))
	if err != nil {
		t.Fatal(err)
	}
	s.types(t, "\n")
	if e := s.exit(t); e.Code != 7 {
		t.Errorf("exit %+v", e)
	}
	if err := unix.Kill(pid, 0); err != nil {
		t.Fatalf("the job ended with the program: %v", err)
	}
	if err := s.Stop(testContext(t), -1); err != nil {
		t.Fatal(err)
	}
	if err := unix.Kill(pid, 0); !errors.Is(err, unix.ESRCH) {
		t.Errorf("the job after the stop: %v, want %v", err, unix.ESRCH)
	}
}

// TestTheServerComesAndGoes: sessions start while the server ends, or may end,
// with the last of the ones before.
func TestTheServerComesAndGoes(t *testing.T) {
	p := newPlace(t)
	for i := range 20 {
		s := p.start(t, fmt.Sprintf("echo LAST; exit %d", i))
		if e := s.exit(t); e.Code != i || s.output(t) != "LAST\r\n" {
			t.Errorf("exit %+v after %q", e, s.output(t))
		}
		if err := s.Remove(testContext(t)); err != nil {
			t.Error(err)
		}
	}
}

// TestACrashedStartCanBeTriedAgain: what a killed starter left is in nobody's
// way.
func TestACrashedStartCanBeTriedAgain(t *testing.T) {
	p := newPlace(t)
	spec := specOf("/bin/sh", "-c", "exit 7")
	s := &session{Session: p.Session(spec.ID), id: spec.ID, dir: filepath.Join(p.o.Sessions, spec.ID)}
	if err := errors.Join(os.MkdirAll(s.dir, 0o700), os.WriteFile(filepath.Join(s.dir, "host"), []byte(tmux.Name), 0o600)); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Start(testContext(t), spec); err != nil {
		t.Fatal(err)
	}
	if e := s.exit(t); e.Code != 7 {
		t.Errorf("exit %+v", e)
	}
	p.Wait()
	if _, err := p.Start(testContext(t), spec); !errors.Is(err, terminal.ErrEnded) {
		t.Errorf("start of an ended id: %v, want %v", err, terminal.ErrEnded)
	}
}

// TestTheHostLockCannotBeTaken: the launcher says so, and its pane goes.
func TestTheHostLockCannotBeTaken(t *testing.T) {
	p := newPlace(t)
	spec := specOf("/bin/sh", "-c", "read x")
	dir := filepath.Join(p.o.Sessions, spec.ID)
	if err := errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(filepath.Join(dir, "host"), []byte(tmux.Name), 0o600)); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, host.LockFile)
	if err := os.Mkdir(path, 0o700); err != nil { // no lock at all
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Remove(path) }) // before the place is left
	_, err := p.Start(testContext(t), spec)
	if err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("start: %v, want an error about %s", err, path)
	}
	eventually(t, "no tmux session is left", func() bool {
		_, err := p.byHand("has-session", "-t", "="+spec.ID)
		return err != nil
	})
}

// TestAPaneThatNeverComes: another program in the launcher's place is no
// launcher. The start fails in time, and the pane goes.
func TestAPaneThatNeverComes(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes as long as a pane may")
	}
	for name, do := range map[string]string{
		"no launcher": `[ "$a" = ` + tmux.CommandPane + ` ] && set -- "$@" -c "sleep 1000; exit" && continue; [ "$b" = -- ] && a=/bin/sh`,
		"no pipe":     `case $a in *" ` + tmux.CommandPipe + ` "*) a="exec cat >/dev/null";; esac`,
		"it stops":    `[ "$a" = new-session ] && kill -STOP $$`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, func(o *tmux.Options) {
				o.Tmux = script(t, `for a; do shift; c=$a; `+do+`; b=$c; set -- "$@" "$a"; done; exec tmux "$@"`)
			})
			if failed := p.failsToStart(t, specOf("/bin/sh", "-c", "read x")); !failed.Host {
				t.Errorf("start: %v, want the host's", failed)
			}
		})
	}
}

// TestAServerThatTakesItsTimeToEnd: a session is made once it has, however often
// the server turns it away until then.
func TestAServerThatTakesItsTimeToEnd(t *testing.T) {
	away := filepath.Join(testenv.ShortDir(t), "away")
	if err := os.WriteFile(away, bytes.Repeat([]byte("x\n"), 7), 0o600); err != nil {
		t.Fatal(err)
	}
	p := newPlace(t, func(o *tmux.Options) {
		o.Tmux = script(t, `case "$*" in *tmux-pane*/sessions/*)
			if [ -s `+away+` ]; then sed -i 1d `+away+`; echo 'server exited unexpectedly' >&2; exit 1; fi;;
		esac; exec tmux "$@"`)
	})
	if e := p.start(t, "exit 3").exit(t); e.Code != 3 {
		t.Errorf("%+v", e)
	}
	if left, err := os.ReadFile(away); err != nil || len(left) > 0 {
		t.Errorf("%q is left, %v: it was not turned away often enough", left, err)
	}
}

// TestAPaneOnAServerThatEnds: tmux may make a session although its server has
// begun to end, and then the server waits for the pane. The owner lets the pane
// go, and makes another.
func TestAPaneOnAServerThatEnds(t *testing.T) {
	dir := testenv.ShortDir(t)
	ends := filepath.Join(dir, "ends")
	if err := os.WriteFile(ends, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p := newPlace(t, func(o *tmux.Options) {
		o.Tmux = script(t, `case "$*" in *tmux-pane*/sessions/*)
			other="tmux -f `+os.DevNull+` -S `+filepath.Join(dir, "sock")+`"
			if rm `+ends+` 2>/dev/null; then shift 5; $other "$@" ";" set -s exit-empty on >/dev/null || exit; fi
			if $other ls >/dev/null 2>&1; then echo 'server exited unexpectedly' >&2; exit 1; fi;;
		esac; exec tmux "$@"`)
	})
	if e := p.start(t, "exit 3").exit(t); e.Code != 3 {
		t.Errorf("%+v", e)
	}
	if _, err := os.Stat(ends); err == nil {
		t.Error("no server has ended")
	}
}

// TestAServerThatEndsJustBefore: no session is made on a server that tmux
// starts for it when the one before has ended: it would have no control client,
// and would not end.
func TestAServerThatEndsJustBefore(t *testing.T) {
	ends := filepath.Join(testenv.ShortDir(t), "ends")
	if err := os.WriteFile(ends, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p := newPlace(t, func(o *tmux.Options) {
		o.Tmux = script(t, `case "$*" in *tmux-pane*/sessions/*)
			if rm `+ends+` 2>/dev/null; then
				tmux -S "$3" kill-server
				while tmux -S "$3" ls >/dev/null 2>&1; do :; done
			fi;;
		esac; exec tmux "$@"`)
	})
	s := p.start(t, "read x; exit 4")
	if _, err := os.Stat(ends); err == nil {
		t.Error("no server has ended")
	}
	if got := p.command(t, "list-clients", "-F", "#{client_session} #{client_control_mode}"); got != tmux.InputSession+" 1\n" {
		t.Errorf("clients are %q", got)
	}
	s.types(t, "x\n")
	if e := s.exit(t); e.Code != 4 {
		t.Errorf("%+v", e)
	}
}

// TestOwnerKilledWhileThePaneIsMade: the launcher finds nobody, and its pane
// goes. The next start is none the worse for it.
func TestOwnerKilledWhileThePaneIsMade(t *testing.T) {
	kill := filepath.Join(testenv.ShortDir(t), "kill")
	if err := os.WriteFile(kill, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p := newPlace(t, func(o *tmux.Options) {
		o.Tmux = script(t, `case "$*" in *tmux-pane*/sessions/*) if rm `+kill+` 2>/dev/null; then tmux "$@"; kill -9 $PPID; exit; fi;; esac; exec tmux "$@"`)
	})
	failed := p.failsToStart(t, specOf("/bin/sh", "-c", "read x"))
	if !strings.Contains(failed.Error(), "killed") {
		t.Errorf("start: %v", failed)
	}
	if e := p.start(t, "exit 3").exit(t); e.Code != 3 {
		t.Errorf("the next: %+v", e)
	}
}

// TestOwnerKilledByItsProgramAtOnce: the session has another owner, or it was
// not started, and nothing of it is left.
func TestOwnerKilledByItsProgramAtOnce(t *testing.T) {
	p := newPlace(t)
	started := 0
	for range 5 {
		spec := specOf("/bin/sh", "-c", `echo $$ >"$0/program"
			kill -9 $(tr , "\n" <"$0/sessions/$MIDDLEMAN_SESSION/owner.json" | sed -n 's/.*"owner_pid": *//p')
			echo READY; read x; echo "got $x."; exit 5`, p.data)
		_, err := p.Start(testContext(t), spec)
		s := &session{Session: p.Session(spec.ID), id: spec.ID, dir: filepath.Join(p.o.Sessions, spec.ID)}
		if _, there := os.Stat(s.dir); there == nil {
			started++
			var typed error
			t.Cleanup(func() { // an eventually that fails ends the test
				if t.Failed() {
					log, _ := os.ReadFile(filepath.Join(s.dir, "owner.log"))
					t.Logf("start: %v\nlast input: %v\nowner.log:\n%s", err, typed, log)
				}
			})
			eventually(t, "another owner types", func() bool {
				typed = s.Input(testContext(t), []byte("x\n"))
				return typed == nil || errors.Is(typed, terminal.ErrEnded) // the killed one may have typed it
			})
			if e := s.exit(t); e.Code != 5 {
				t.Errorf("exit %+v; start: %v", e, err)
			}
			continue
		}
		if err == nil {
			t.Error("a start that came about has no state")
		}
		pid, err := os.ReadFile(filepath.Join(p.data, "program"))
		if err != nil {
			t.Fatal(err)
		}
		eventually(t, "the program has ended", func() bool { return hasEnded(strings.TrimSpace(string(pid))) })
	}
	t.Logf("%d of 5 were started", started)
}
