//go:build unix

package dashboard

import (
	"bytes"
	"errors"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

const (
	pasteStart = "\x1b[200~"
	pasteEnd   = "\x1b[201~"
	esc        = 0x1b
	ctrlC      = 0x03
	// keptWait is how often we look whether the dashboard has decided on an Enter that
	// waits for something.
	keptWait = 20 * time.Millisecond
	// maxKept is how many bytes behind such an Enter are kept. The rest stays in the
	// terminal.
	maxKept = 64 << 10
	// enterWait is how long nothing is read behind an Enter that the dashboard has not
	// taken. It is a bound for a key that is decoded as something else.
	enterWait = time.Second
)

// input is the terminal, for the goroutine that decodes keys. What is typed behind an
// Enter stays in the terminal until the dashboard has taken that: if it gives the
// terminal to a session, that reads the rest. An Enter may wait for a session that is
// not there yet: then the rest is kept for that, but for keys that go back on it.
type input struct {
	*os.File
	entered chan verdict // what became of an Enter

	mu   sync.Mutex // guards kept
	kept []byte     // what was typed behind an Enter that waited

	// These belong to the goroutine that reads.
	holds bool   // the last byte was an Enter that is not taken yet
	paste bool   // an Enter is a part of what is pasted
	last  []byte // the last bytes, as many as pasteStart has
}

// verdict is what became of an Enter.
type verdict int

const (
	readsOn   verdict = iota // the dashboard reads on
	givenAway                // the terminal is given away
	waitsOn                  // another verdict follows
)

func newInput(f *os.File) *input { return &input{File: f, entered: make(chan verdict, 1)} }

// taken says that the dashboard has taken an Enter, and whether it gives the terminal away.
func (in *input) taken(away bool) {
	if away {
		in.tell(givenAway)
		return
	}
	in.tell(readsOn)
}

// keep says that an Enter waits for something. What is typed behind it is kept until
// taken is called, and dropped if the dashboard goes on.
func (in *input) keep() { in.tell(waitsOn) }

// tell gives the verdict on an Enter in place of one that was not read.
func (in *input) tell(v verdict) {
	in.forget()
	select {
	case in.entered <- v:
	default:
	}
}

// ahead returns what was kept, once.
func (in *input) ahead() []byte {
	in.mu.Lock()
	defer in.mu.Unlock()
	kept := in.kept
	in.kept = nil
	return kept
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
		v := readsOn
		select {
		case v = <-in.entered:
		case <-time.After(enterWait):
		}
		n := 0
		if v == waitsOn {
			n, v = in.await(p)
		}
		if v == givenAway {
			return 0, io.EOF
		}
		if n > 0 {
			return n, nil
		}
	}
	n := 0
	for n < len(p) && (n == 0 || in.ready(0)) {
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

// await keeps what is typed until there is a verdict on an Enter that waits. Escape,
// ctrl-c and what is no text go back on the Enter: await drops what it kept, and
// returns them in p.
func (in *input) await(p []byte) (n int, v verdict) {
	for full := time.Duration(0); ; {
		select {
		case v = <-in.entered:
			if v == readsOn {
				in.ahead()
			}
			if v != waitsOn {
				return 0, v
			}
		case <-time.After(full):
		}
		if full > 0 || !in.ready(keptWait) {
			continue
		}
		key := in.key()
		if !isText(key) {
			in.ahead()
			return copy(p, key), readsOn
		}
		in.mu.Lock()
		if in.kept = append(in.kept, key...); len(in.kept) >= maxKept {
			full = keptWait
		}
		in.mu.Unlock()
	}
}

// key reads a byte, or the beginning of a sequence; nothing if the terminal is gone.
func (in *input) key() (key []byte) {
	b := make([]byte, 1)
	for len(key) < len(pasteStart) && (len(key) == 0 || key[0] == esc && in.ready(keptWait)) {
		if n, _ := in.File.Read(b); n == 0 {
			break
		}
		key = append(key, b[0])
	}
	return key
}

// isText reports whether a key is a part of what can be typed for a session.
func isText(key []byte) bool {
	switch {
	case len(key) == 0:
		return false
	case key[0] == esc:
		return string(key) == pasteStart || string(key) == pasteEnd
	}
	return key[0] != ctrlC
}

// ready reports whether a read would not block, or will not within some time.
func (in *input) ready(within time.Duration) bool {
	for {
		fds := []unix.PollFd{{Fd: int32(in.Fd()), Events: unix.POLLIN}}
		n, err := unix.Poll(fds, int(within.Milliseconds()))
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
