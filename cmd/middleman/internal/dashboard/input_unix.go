//go:build unix

package dashboard

import (
	"bytes"
	"errors"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

const (
	pasteStart = "\x1b[200~"
	pasteEnd   = "\x1b[201~"
	// enterWait is how long nothing is read behind an Enter that the dashboard has not
	// taken. It is a bound for a key that is decoded as something else.
	enterWait = time.Second
)

// input is the terminal, for the goroutine that decodes keys. What is typed behind an
// Enter stays in the terminal until the dashboard has taken that: if it gives the
// terminal to a session, that reads the rest.
type input struct {
	*os.File
	entered chan bool // what became of an Enter; true: the terminal is given away

	// These belong to the goroutine that reads.
	holds bool   // the last byte was an Enter that is not taken yet
	paste bool   // an Enter is a part of what is pasted
	last  []byte // the last bytes, as many as pasteStart has
}

func newInput(f *os.File) *input { return &input{File: f, entered: make(chan bool, 1)} }

// taken says that the dashboard has taken an Enter, and whether it gives the terminal away.
func (in *input) taken(away bool) {
	select {
	case in.entered <- away:
	default:
	}
}

// back says that the terminal is the dashboard's again, of which nobody reads yet.
func (in *input) back() {
	in.holds = false
	in.forget()
}

// forget drops what was said of an Enter that Read has not waited for.
func (in *input) forget() {
	select {
	case <-in.entered:
	default:
	}
}

// Read reads what is there, but nothing behind an Enter. It blocks until there is
// something. It returns io.EOF when the terminal is given away, and reads again
// after back.
func (in *input) Read(p []byte) (int, error) {
	if in.holds {
		in.holds = false
		select {
		case away := <-in.entered:
			if away {
				return 0, io.EOF
			}
		case <-time.After(enterWait):
		}
	}
	n := 0
	for n < len(p) && (n == 0 || in.ready()) {
		read, err := in.File.Read(p[n : n+1])
		if read == 0 {
			return n, err
		}
		in.follow(p[n])
		n++
		if in.holds {
			break
		}
	}
	return n, nil
}

// ready reports whether a read would not block.
func (in *input) ready() bool {
	for {
		fds := []unix.PollFd{{Fd: int32(in.Fd()), Events: unix.POLLIN}}
		n, err := unix.Poll(fds, 0)
		if !errors.Is(err, unix.EINTR) {
			return err == nil && n > 0
		}
	}
}

// follow takes the next byte of what is typed.
func (in *input) follow(b byte) {
	in.last = append(in.last, b)
	in.last = in.last[max(0, len(in.last)-len(pasteStart)):]
	switch {
	case bytes.Equal(in.last, []byte(pasteStart)):
		in.paste = true
	case bytes.Equal(in.last, []byte(pasteEnd)):
		in.paste = false
	case b == '\r' && !in.paste:
		in.holds = true
		in.forget() // of an Enter that took longer than enterWait
	}
}
