package viewer

import (
	"bytes"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"

	"middleman/terminal"
)

// screenOf collects what a terminal is sent, and waits for parts of it.
type screenOf struct {
	t    *testing.T
	in   io.Writer // the keyboard
	came chan []byte
	all  []byte
}

// until waits until text has come, after what it waited for before.
func (s *screenOf) until(text string) {
	s.t.Helper()
	late := time.After(time.Minute)
	for {
		if at := bytes.Index(s.all, []byte(text)); at >= 0 {
			s.all = s.all[at+len(text):]
			return
		}
		select {
		case p, ok := <-s.came:
			if !ok {
				s.t.Fatalf("the viewing ended; %q has not come", text)
			}
			s.all = append(s.all, p...)
		case <-late:
			s.t.Fatalf("%.100q has not come, but %.200q", text, s.all)
		}
	}
}

func (s *screenOf) typeKeys(keys string) {
	s.t.Helper()
	if _, err := io.WriteString(s.in, keys); err != nil {
		s.t.Fatal(err)
	}
}

// view runs a viewing on a terminal that act types at, and returns when that
// has detached.
func view(t *testing.T, script string, act func(*screenOf)) {
	t.Helper()
	s := startSession(t, script)
	master, slave, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	screen := &screenOf{t: t, in: master, came: make(chan []byte, 1<<10)}
	read := make(chan struct{})
	go func() {
		defer close(read)
		defer close(screen.came)
		for {
			p := make([]byte, 4<<10)
			n, err := master.Read(p)
			if err != nil {
				return
			}
			screen.came <- p[:n]
		}
	}()
	ended := make(chan error, 1)
	go func() {
		var zero uint64
		end, err := Run(t.Context(), slave, slave, io.Discard, s, Options{
			Mode: terminal.ModeAttach, From: &zero, Detach: 0x1c, DetachName: `ctrl-\`, Label: "w",
		})
		if err == nil && end.Exit != nil {
			err = os.ErrProcessDone
		}
		ended <- err
	}()
	act(screen)
	screen.typeKeys("\x1c")
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("detached with %v", err)
		}
	case <-time.After(time.Minute):
		t.Error("the detach key does not leave")
	}
	slave.Close()
	go func() {
		for range screen.came { // so that its reader comes to the end
		}
	}()
	master.Close()
	<-read
}

// Keys of every kind arrive, whole and in order, however often the keyboard is
// lent and comes back.
func TestKeysOfEveryKind(t *testing.T) {
	view(t, "stty raw -echo; printf READY; exec cat", func(s *screenOf) {
		s.until("READY")
		for range 20 {
			for _, keys := range []string{"a", "b", "\x1b[A", "é", strings.Repeat("paste ", 500), "c", "\x1b[1;", "5C", "\r"} {
				s.typeKeys(keys)
				s.until(keys)
			}
			s.typeKeys("\x1b") // whose echo is drawn with what follows
			s.typeKeys("d")
			s.until("\x1bd")
		}
	})
}

// A program that reads nothing takes nobody the detach key, however much was
// typed at it.
func TestDetachFromADeafProgram(t *testing.T) {
	view(t, "stty raw -echo; printf READY; exec sleep 1000", func(s *screenOf) {
		s.until("READY")
		for range 64 {
			s.typeKeys(strings.Repeat("k", 1<<10))
		}
	})
}
