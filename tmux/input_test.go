//go:build unix

package tmux_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"middleman/terminal"
	"middleman/tmux"
)

// The one control client, through which all is typed.

// TestTheControlClientIsStartedAgain: however it was ended, the next keys
// arrive, whole and once.
func TestTheControlClientIsStartedAgain(t *testing.T) {
	p := newPlace(t)
	s := p.start(t, `echo READY; while read x; do echo "got $x."; done`)
	a := s.attach(t, terminal.AttachOptions{Mode: terminal.ModeAttach, Size: terminal.DefaultSize, From: new(uint64)})
	received(t, a, "READY")
	fifo := filepath.Join(p.o.Runtime, "tmux."+p.serverPID(t)+".fifo")
	attached := func(format string) (client string) {
		t.Helper()
		eventually(t, "a control client is attached", func() bool {
			client = strings.TrimSpace(p.command(t, "list-clients", "-F", format))
			return client != ""
		})
		return client
	}
	check := func(i int) {
		t.Helper()
		for _, text := range []string{fmt.Sprintf("key%d", i), fmt.Sprintf("%d%send", i, strings.Repeat("long ", 100))} {
			if err := a.Input([]byte(text + "\n")); err != nil {
				t.Fatal(err)
			}
			received(t, a, "got "+text+".")
		}
	}
	for i, end := range []func(){
		func() {},
		func() { p.command(t, "kill-session", "-t", "="+tmux.InputSession) },
		func() { p.command(t, "detach-client", "-t", attached("#{client_name}")) },
		func() {
			pid, err := strconv.Atoi(attached("#{client_pid}"))
			if err == nil {
				err = unix.Kill(pid, unix.SIGKILL)
			}
			if err != nil {
				t.Fatal(err)
			}
		},
	} {
		end()
		if i > 0 { // until it is gone, keys may go to the one that ends
			eventually(t, "nobody reads the FIFO", func() bool {
				f, err := os.OpenFile(fifo, os.O_WRONLY|unix.O_NONBLOCK, 0)
				if err == nil {
					f.Close()
				}
				return err != nil
			})
		}
		check(i)
	}
	for _, path := range []string{filepath.Join(p.o.Runtime, "tmux.in.lock"), fifo} {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	check(4)
	if n := strings.Count(s.output(t), "got "); n != 10 {
		t.Errorf("%d lines of 10 came", n)
	}
}

// TestARuntimeDirectoryThatIsRemoved: with socket, FIFO and lock, as at a logout.
// Who typed before and who types for the first time goes on, and so do starts.
func TestARuntimeDirectoryThatIsRemoved(t *testing.T) {
	p := newPlace(t)
	script := `echo READY; while read x; do echo "got $x."; done`
	typed, quiet := p.start(t, script), p.start(t, script)
	typed.types(t, "before\n")
	typed.printed(t, "got before.")
	server := p.serverPID(t)
	if err := os.RemoveAll(p.o.Runtime); err != nil {
		t.Fatal(err)
	}
	for _, s := range []*session{quiet, typed, p.start(t, script)} {
		s.types(t, "after\n")
		s.printed(t, "got after.")
	}
	if now := p.serverPID(t); now != server {
		t.Errorf("another server, %s, was started beside %s", now, server)
	}
}

// TestManyOwnersTypeAtOnce: of one control client's many writers, each one's
// keys arrive whole, in order, at its own pane. The first start the client at
// once.
func TestManyOwnersTypeAtOnce(t *testing.T) {
	const sessions, lines = 4, 50
	p := newPlace(t)
	var typing sync.WaitGroup
	var started []*session
	var want [sessions]string
	for range sessions {
		s := p.start(t, `stty -echo; echo READY; n=0; while [ $n -lt 50 ]; do read x; echo "$x"; n=$((n+1)); done; echo END`)
		started = append(started, s)
	}
	for i, s := range started {
		s.printed(t, "READY")
		want[i] = "READY\r\n"
		typing.Go(func() {
			for n := range lines {
				line := fmt.Sprintf("%d-%d-%s", i, n, strings.Repeat("x", n*7))
				if err := s.Input(testContext(t), []byte(line+"\n")); err != nil {
					t.Error(err)
				}
				want[i] += line + "\r\n"
			}
		})
	}
	typing.Wait()
	for i, s := range started {
		exit := s.exit(t)
		if got := s.output(t); got != want[i]+"END\r\n" || exit.Code != 0 {
			t.Errorf("session %d printed %d bytes, want %d; %+v", i, len(got), len(want[i])+5, exit)
		}
	}
}

// TestTypedWhileSomebodyLooksBack: copy mode by hand takes no keys of the
// writer's.
func TestTypedWhileSomebodyLooksBack(t *testing.T) {
	p := newPlace(t)
	s := p.start(t, `echo READY; while read x; do echo "got $x."; done`)
	s.printed(t, "READY")
	for _, text := range []string{"q", "short", strings.Repeat("long ", 100) + "end"} {
		p.command(t, "copy-mode", "-t", tmux.PaneTarget(s.id))
		s.types(t, text+"\n")
		s.printed(t, "got "+text+".")
	}
}

// TestThePasteBuffersAreTheUsers: what is typed leaves none, and takes none.
func TestThePasteBuffersAreTheUsers(t *testing.T) {
	p := newPlace(t)
	s := p.start(t, `echo READY; while read x; do echo "got $x."; done`)
	s.printed(t, "READY")
	p.command(t, "set-buffer", "-b", "mine", "kept")
	text := strings.Repeat("paste ", 200) + "end"
	s.types(t, text+"\n")
	s.printed(t, "got "+text+".")
	if got := p.command(t, "list-buffers", "-F", "#{buffer_name} #{buffer_sample}"); got != "mine kept\n" {
		t.Errorf("buffers %q", got)
	}
}
