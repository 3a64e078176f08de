//go:build unix

package tmux

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"
)

const testMark = "\x1b]7767;ABCDEFGHIJKLMNOPQRSTUVWXYZ\a"

// scanAll feeds p in pieces of n bytes.
func scanAll(p []byte, n int) (out []byte, found bool) {
	m := &markScanner{mark: []byte(testMark)}
	for len(p) > 0 {
		k := min(n, len(p))
		out = append(out, m.scan(p[:k])...)
		p = p[k:]
	}
	return append(out, m.rest()...), m.found
}

func TestMarkScanner(t *testing.T) {
	for _, tt := range []struct {
		name, in, want string
		found          bool
	}{
		{"nothing", "", "", false},
		{"no output", testMark, "", true},
		{"output", "abc" + testMark, "abc", true},
		{"what follows is dropped", "abc" + testMark + "def", "abc", true},
		{"the second is dropped", "abc" + testMark + testMark, "abc", true},
		{"no mark", "abc", "abc", false},
		{"the beginning of a mark", "abc" + testMark[:20], "abc" + testMark[:20], false},
		{"a mark without its end", "abc" + testMark[:len(testMark)-1], "abc" + testMark[:len(testMark)-1], false},
		{"another mark", "\x1b]7767;f\a", "\x1b]7767;f\a", false},
		{"beginning twice", testMark[:10] + testMark, testMark[:10], true},
		{"many beginnings", strings.Repeat("\x1b]", 100) + testMark, strings.Repeat("\x1b]", 100), true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for n := 1; n <= len(tt.in)+1; n++ {
				if out, found := scanAll([]byte(tt.in), n); string(out) != tt.want || found != tt.found {
					t.Fatalf("in pieces of %d: %q, %v, want %q, %v", n, out, found, tt.want, tt.found)
				}
			}
		})
	}
}

// What cannot be a mark's beginning is not held back.
func TestMarkScannerHoldsLittleBack(t *testing.T) {
	m := &markScanner{mark: []byte(testMark)}
	for _, tt := range []struct{ in, out string }{
		{"abc", "abc"}, {"abc\x1b", "abc"}, {"[1m", "\x1b[1m"}, {testMark[:9], ""}, {"x", testMark[:9] + "x"},
	} {
		if got := m.scan([]byte(tt.in)); string(got) != tt.out {
			t.Errorf("%q gave %q, want %q", tt.in, got, tt.out)
		}
	}
}

// FuzzMarkScanner: whatever the pieces, the output is what is before the mark,
// and without one it is the input.
func FuzzMarkScanner(f *testing.F) {
	f.Add([]byte("abc"), 1)
	f.Add([]byte("abc"+testMark), 3)
	f.Add([]byte(testMark[:20]+testMark+"def"), 7)
	f.Fuzz(func(t *testing.T, p []byte, n int) {
		want, _, has := bytes.Cut(p, []byte(testMark))
		out, found := scanAll(bytes.Clone(p), max(1, n%300))
		if !bytes.Equal(out, want) || found != has {
			t.Errorf("%q, %v of %q, want %q, %v", out, found, p, want, has)
		}
	})
}

// newTerminal is a pane's terminal, with the other ends of its pipe and of the
// launcher's connection.
func newTerminal(t *testing.T) (pane *paneTerminal, pipe *os.File, launcher *net.UnixConn) {
	t.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	tty, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	ours, theirs := connected(t)
	pane = &paneTerminal{paneState: paneState{Mark: []byte(testMark)}, conn: ours, news: &hearer{conn: ours}, pipe: read, tty: tty}
	if err := pane.open(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		pane.Close()
		write.Close()
	})
	return pane, write, theirs
}

// readAll reads to the end, in small pieces.
func readAll(t *testing.T, r io.Reader) string {
	t.Helper()
	all := ""
	for p := make([]byte, 64); ; {
		n, err := r.Read(p)
		all += string(p[:n])
		if err == io.EOF {
			return all
		}
		if err != nil {
			t.Fatalf("%v after %q", err, all)
		}
	}
}

// What has come through the pipe is read, also where the end of the pane's
// terminal is known before: by kill-session, with others that hold the pipe.
func TestOutputBeforeTheEndOfThePane(t *testing.T) {
	want := strings.Repeat("output ", 1000)
	for name, end := range map[string]func(*paneTerminal){
		"gone": (*paneTerminal).stopReading,
		"gone, and the program has ended": func(pane *paneTerminal) {
			pane.stopReading()
			pane.LetEnd()
		},
		"the program has ended, and gone": func(pane *paneTerminal) {
			pane.LetEnd()
			pane.stopReading()
		},
	} {
		t.Run(name, func(t *testing.T) {
			pane, pipe, _ := newTerminal(t)
			if _, err := io.WriteString(pipe, want); err != nil {
				t.Fatal(err)
			}
			end(pane)
			if got := readAll(t, pane); got != want {
				t.Errorf("%d bytes of %d were read", len(got), len(want))
			}
		})
	}
}

// A pane whose program prints on, which is not the session's, has an end.
func TestAPaneThatPrintsOnHasAnEnd(t *testing.T) {
	pane, pipe, _ := newTerminal(t)
	done := make(chan struct{})
	go func() { // ends with the pipe
		defer close(done)
		for {
			if _, err := io.WriteString(pipe, "theirs\n"); err != nil {
				return
			}
		}
	}()
	pane.stopReading()
	if got := readAll(t, pane); len(got) > lateBytes {
		t.Errorf("%d bytes were read", len(got))
	}
	pane.Close()
	<-done
}

// The mark ends the output, and so does the end of the pipe.
func TestTheEndOfTheOutput(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"mark", "out" + testMark + "modes off", "out"},
		{"no mark", "out", "out"},
		{"half a mark", "out" + testMark[:9], "out" + testMark[:9]},
	} {
		t.Run(tt.name, func(t *testing.T) {
			pane, pipe, _ := newTerminal(t)
			pane.LetEnd()
			if _, err := io.WriteString(pipe, tt.in); err != nil {
				t.Fatal(err)
			}
			pipe.Close()
			if got := readAll(t, pane); got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

// A pipe that has ended before the program is no end: somebody took it away.
// A deadline wakes who waits for the end, and so does the end.
func TestAPipeThatIsTakenAwayIsNoEnd(t *testing.T) {
	pane, pipe, _ := newTerminal(t)
	if _, err := io.WriteString(pipe, "out"); err != nil {
		t.Fatal(err)
	}
	pipe.Close()
	p := make([]byte, 100)
	if n, err := pane.Read(p); n != 3 || err != nil {
		t.Fatalf("%d, %v", n, err)
	}
	if err := pane.SetDeadline(time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	if _, err := pane.Read(p); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("at the deadline: %v", err)
	}
	if err := pane.SetDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
	read := make(chan error)
	go func() {
		_, err := pane.Read(p)
		read <- err
	}()
	pane.LetEnd()
	if err := <-read; err != io.EOF {
		t.Errorf("at the end: %v", err)
	}
}

// What is typed at a pane that has ended is refused, and so is a size.
func TestAPaneThatHasEndedTakesNothing(t *testing.T) {
	pane, _, launcher := newTerminal(t)
	launcher.Close()
	pane.LetEnd() // nobody hears it
	if _, err := pane.Write([]byte("x")); !errors.Is(err, os.ErrClosed) {
		t.Errorf("write: %v", err)
	}
	if got := readAll(t, pane); got != "" {
		t.Errorf("read %q", got)
	}
}
