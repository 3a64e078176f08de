package dashboard

import (
	"errors"
	"io"
	"os"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"middleman/internal/testenv"
)

func TestInputStopsAtEnter(t *testing.T) {
	for _, tt := range []struct {
		name, typed string
		away        bool
		want        []string // what each Read returns
		left        string   // in the terminal
	}{
		{"text", "abc", false, []string{"abc"}, ""},
		{"a key", "\x1b[1;5A", false, []string{"\x1b[1;5A"}, ""},
		{"the dashboard goes on", "j\rk", false, []string{"j\r", "k"}, ""},
		{"two Enters", "\r\rk", false, []string{"\r", "\r", "k"}, ""},
		{"a session takes the rest", "j\rls\r", true, []string{"j\r", ""}, "ls\r"},
		{"Escape and Enter", "\x1b\rx", true, []string{"\x1b\r", ""}, "x"},
		{"a paste", "\x1b[200~a\rb\x1b[201~\rc", false, []string{"\x1b[200~a\rb\x1b[201~\r", "c"}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			keyboard, in := rawTerminal(t)
			if _, err := keyboard.WriteString(tt.typed); err != nil {
				t.Fatal(err)
			}
			keys := newInput(in)
			for i, want := range tt.want {
				p := make([]byte, 100)
				n, err := keys.Read(p)
				if end := want == ""; string(p[:n]) != want || errors.Is(err, io.EOF) != end {
					t.Fatalf("read %d: %q, %v; want %q", i, p[:n], err, want)
				}
				if keys.holds {
					keys.taken(tt.away)
				}
			}
			if tt.left == "" {
				if keys.ready(0) {
					t.Error("something is left")
				}
				return
			}
			p := make([]byte, 100)
			if n, err := in.Read(p); string(p[:n]) != tt.left {
				t.Errorf("left is %q, %v; want %q", p[:n], err, tt.left)
			}
		})
	}
}

// What is typed behind an Enter that waits is kept for a session. Keys that are no text go
// back on it.
func TestInputKeepsWhatFollows(t *testing.T) {
	for _, tt := range []struct {
		name, typed string
		away        bool
		want, kept  string // what is read next, and what a session gets
	}{
		{"text", "ls\rpwd\r", true, "", "ls\rpwd\r"},
		{"a paste", "\x1b[200~a\rb\x1b[201~\r", true, "", "\x1b[200~a\rb\x1b[201~\r"},
		{"the dashboard goes on", "ls", false, "j", ""},
		{"Escape", "ls\x1b", true, "\x1b", ""},
		{"an arrow", "ls\x1b[A", true, "\x1b[A", ""},
		{"ctrl-c", "ls\r\x03", true, "\x03", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			keyboard, in := rawTerminal(t)
			keys := newInput(in)
			p := make([]byte, 100)
			if _, err := keyboard.WriteString("\r" + tt.typed); err != nil {
				t.Fatal(err)
			}
			if n, err := keys.Read(p); string(p[:n]) != "\r" {
				t.Fatalf("read %q, %v", p[:n], err)
			}
			keys.keep()
			read := make(chan string)
			go func() {
				n, err := keys.Read(p)
				if errors.Is(err, io.EOF) != (tt.want == "") {
					t.Errorf("the error is %v", err)
				}
				read <- string(p[:n])
			}()
			if tt.want == "" || tt.want == "j" {
				testenv.Eventually(t, time.Minute, "what follows is kept, or dropped", func() bool {
					keys.mu.Lock()
					defer keys.mu.Unlock()
					return string(keys.kept) == tt.typed
				})
				keys.taken(tt.away)
			}
			if tt.want == "j" {
				testenv.Eventually(t, time.Minute, "what follows is kept, or dropped", func() bool { return len(keys.entered) == 0 })
				if _, err := keyboard.WriteString("j"); err != nil {
					t.Fatal(err)
				}
			}
			if got := <-read; got != tt.want {
				t.Errorf("read %q, want %q", got, tt.want)
			}
			if kept := keys.ahead(); string(kept) != tt.kept || keys.ahead() != nil {
				t.Errorf("kept %q, want %q", kept, tt.kept)
			}
		})
	}
}

// rawTerminal returns a terminal that passes every byte on, and its other side.
func rawTerminal(t *testing.T) (keyboard, tty *os.File) {
	keyboard, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { keyboard.Close(); tty.Close() })
	settings, err := unix.IoctlGetTermios(int(tty.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	settings.Iflag, settings.Lflag = 0, 0
	settings.Cc[unix.VMIN], settings.Cc[unix.VTIME] = 1, 0
	if err := unix.IoctlSetTermios(int(tty.Fd()), unix.TCSETS, settings); err != nil {
		t.Fatal(err)
	}
	return keyboard, tty
}
