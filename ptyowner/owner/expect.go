package owner

import (
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
	"time"

	"middleman/ptyowner/wire"
	"middleman/terminal"
	"middleman/terminal/recording"
	"middleman/terminal/vt"
)

// How input that expects something is typed:
//
//  1. It waits until nobody else types (host.Terminal's WriteIf), and takes the
//     lock taking. From then on nobody else reads output or types.
//  2. It reads and publishes all output that can be read by then (readRest).
//  3. The screen draws that. The conditions are compared with the head, with the
//     time of the last output, and with the text of the screen (check).
//  4. The input is written without waiting, and the locks are released.
//
// So no output is drawn between the comparison and the typing. What the program
// has written and the system has not passed on by step 2 is not known to the
// owner: such output comes after the input, for the program too may have read
// it before.
//
// With Held, the program's output is held from before step 2 until it has begun
// to read the input (host.TypeHeld). So it cannot have drawn anything between the
// comparison and its reading.

// maxRest is how much output is read in step 2, which is more than a terminal
// buffers. A program that has printed more meanwhile prints without a pause.
const maxRest = 256 << 10

// typeExpecting types p if what e expects holds, and returns the head at that
// time.
func (v *viewer) typeExpecting(p []byte, e wire.Expect) (head uint64, err error) {
	o := v.owner
	most := wire.MaxInput
	if e.Held {
		most = terminal.MaxHeld
	}
	if len(p) > most {
		return 0, &wire.Error{Code: wire.CodeBadRequest, Text: fmt.Sprintf("input of %d bytes, at most %d can be typed where something is expected", len(p), most)}
	}
	n, err := o.typeIf(p, e.Held, func() (err error) {
		if hungUp(v.conn) {
			return net.ErrClosed // while it waited for others to type
		}
		head, err = o.check(e)
		return err
	})
	switch {
	case errors.Is(err, os.ErrClosed) || errors.Is(err, syscall.EIO):
		return head, terminal.ErrEnded
	case err != nil:
		return head, err
	case n < len(p):
		return head, &terminal.NotReadError{Session: o.spec.ID, Typed: n}
	}
	return head, nil
}

// typeIf does steps 1, 2 and 4. decide compares; if it returns an error, typeIf types
// nothing and returns that error. It returns how much of p was typed.
func (o *owner) typeIf(p []byte, held bool, decide func() error) (n int, err error) {
	if err := o.beginDeciding(); err != nil {
		return 0, err
	}
	defer o.endDeciding()
	taking := false
	defer func() {
		if taking {
			o.taking.Unlock()
		}
	}()
	write := o.term.WriteIf
	if held {
		write = o.term.WriteHeld
	}
	return write(p, func() error {
		o.taking.Lock()
		taking = true
		if o.paused.Load() {
			return errPaused // the input that it waited for may have been typed in part
		}
		if err := o.readRest(); err != nil {
			return err
		}
		return decide()
	})
}

// beginDeciding lets the screen draw until endDeciding is called, also while the
// owner pauses. In an owner that has paused already it returns errPaused.
func (o *owner) beginDeciding() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.phase == phasePaused {
		return errPaused
	}
	o.deciding++
	return nil
}

func (o *owner) endDeciding() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.deciding--
	o.broadcast()
}

// readRest publishes all output that can be read. Called with taking held.
func (o *owner) readRest() error {
	buf := make([]byte, readBytes)
	for rest := 0; rest <= maxRest; {
		n, err := o.takeLocked(buf)
		if n == 0 || err != nil {
			return nil // readPTY gets the same error
		}
		rest += n
	}
	return fmt.Errorf("%w: it prints without a pause", terminal.ErrChanged)
}

// check compares what e expects with the present state, and returns the head.
// Called with taking held.
func (o *owner) check(e wire.Expect) (head uint64, err error) {
	o.mu.Lock()
	head, ended := o.recent.head, o.end != nil
	quiet := time.Since(o.printed)
	o.mu.Unlock()
	switch idle := time.Duration(e.IdleMillis) * time.Millisecond; {
	case ended:
		return head, terminal.ErrEnded
	case e.Offset != nil && *e.Offset != head:
		return head, fmt.Errorf("%w: its output is at offset %d, not at %d", terminal.ErrChanged, head, *e.Offset)
	case quiet < idle:
		return head, fmt.Errorf("%w: it printed %s ago, which is less than %s", terminal.ErrChanged, quiet.Round(time.Millisecond), idle)
	case e.Hash == "":
		return head, nil
	}
	hash, same := "", false
	o.screen.view(func(t *vt.Terminal) {
		rows := terminalRows(e.Rows)
		hash = recording.Hash(t, rows)
		same = e.Hash == hash || e.Hash == recording.Steady(t, rows)
	})
	if !same {
		return head, fmt.Errorf("%w: its hash is %s, not %s", terminal.ErrChanged, hash, e.Hash)
	}
	return head, nil
}

// terminalRows converts rows from their form on the wire.
func terminalRows(r *wire.Rows) terminal.Rows {
	if r == nil {
		return terminal.Rows{}
	}
	return terminal.Rows(*r)
}
