//go:build unix

package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"sync"
	"time"
)

// tape is a recording in the making: marks and data records in the form that
// terminal/vt/testdata/README.md describes.
type tape struct {
	mu      sync.Mutex // guards everything below
	done    bytes.Buffer
	data    []byte // printed since the last mark
	seen    []byte // printed since the last send or resize
	last    time.Time
	written int
	ended   bool

	changed chan struct{} // holds one token after each change
}

func newTape(cols, rows uint16) *tape {
	t := &tape{last: time.Now(), changed: make(chan struct{}, 1)}
	fmt.Fprintf(&t.done, "size %dx%d\n", cols, rows)
	return t
}

func (t *tape) notify() {
	select {
	case t.changed <- struct{}{}:
	default:
	}
}

// Write takes what the program printed.
func (t *tape) Write(p []byte) (int, error) {
	t.mu.Lock()
	t.data = append(t.data, p...)
	t.seen = append(t.seen, p...)
	t.last = time.Now()
	t.written += len(p)
	t.mu.Unlock()
	t.notify()
	return len(p), nil
}

func (t *tape) end() {
	t.mu.Lock()
	t.ended = true
	t.mu.Unlock()
	t.notify()
}

// mark puts a line between the bytes before and after it.
func (t *tape) mark(line string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.flush()
	fmt.Fprintln(&t.done, line)
}

func (t *tape) flush() {
	if len(t.data) > 0 {
		fmt.Fprintf(&t.done, "data %d\n", len(t.data))
		t.done.Write(t.data)
		t.data = t.data[:0]
	}
}

// forget makes the waits look at what is printed from now on.
func (t *tape) forget() {
	t.mu.Lock()
	t.seen = t.seen[:0]
	t.last = time.Now()
	t.mu.Unlock()
}

// await blocks until text was printed or the deadline has passed.
func (t *tape) await(text string, deadline time.Duration) error {
	return t.until(fmt.Sprintf("%q", text), deadline, func() (bool, time.Duration) {
		return bytes.Contains(t.seen, []byte(text)), 0
	})
}

func (t *tape) awaitEnd(deadline time.Duration) error {
	return t.until("the end", deadline, func() (bool, time.Duration) { return t.ended, 0 })
}

// awaitQuiet blocks until something was printed and then nothing for pause.
// A program that does not react at all is waited for three seconds.
func (t *tape) awaitQuiet(pause, deadline time.Duration) error {
	return t.until("silence", deadline, func() (bool, time.Duration) {
		rest := pause - time.Since(t.last)
		if len(t.seen) == 0 {
			rest = max(pause, 3*time.Second) - time.Since(t.last)
		}
		return rest <= 0 || t.ended, rest
	})
}

// until calls ready, with the lock held, after each change and after the time
// that ready asked for.
func (t *tape) until(what string, deadline time.Duration, ready func() (bool, time.Duration)) error {
	limit := time.NewTimer(deadline)
	defer limit.Stop()
	for {
		t.mu.Lock()
		ok, again := ready()
		t.mu.Unlock()
		if ok {
			return nil
		}
		var wake <-chan time.Time
		if again > 0 {
			wake = time.After(again)
		}
		select {
		case <-t.changed:
		case <-wake:
		case <-limit.C:
			return fmt.Errorf("wait for %s: not in %v, last printed %q", what, deadline, t.tail())
		}
	}
}

// tail is what was printed last.
func (t *tape) tail() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	return bytes.Clone(t.seen[max(0, len(t.seen)-400):])
}

func (t *tape) save(file string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.flush()
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return fmt.Errorf("compress: %w", err)
	}
	if _, err := w.Write(t.done.Bytes()); err != nil {
		return fmt.Errorf("compress: %w", err)
	}
	if err := w.Close(); err != nil {
		return fmt.Errorf("compress: %w", err)
	}
	return os.WriteFile(file, packed.Bytes(), 0o644)
}
