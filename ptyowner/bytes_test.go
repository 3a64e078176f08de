//go:build unix

package ptyowner_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"testing"
	"time"

	"middleman/ptyowner"
	"middleman/terminal"
)

// long reports whether the long forms of tests are wanted: make long.
func long() bool { return os.Getenv("MIDDLEMAN_LONG") == "1" }

// bytesProgram is the argument that makes this binary print stream bytes.
const bytesProgram = "bytes-program"

// block is the unit of a stream: any of its blocks can be had without those
// before, so that whoever joins anywhere can tell what has to come.
const block = 64 << 10

// stream is an endless deterministic output, such as a busy terminal's.
type stream struct {
	seed   uint64
	bodies [][]byte
}

// newStream makes the stream of a seed. Each block begins with its number; its
// body is one of a few.
func newStream(seed uint64) *stream {
	s := &stream{seed: seed}
	rng := rand.New(rand.NewPCG(seed, 7))
	for range 32 {
		body := make([]byte, 0, block)
		for len(body) < block-512 {
			body = appendPiece(body, rng)
		}
		s.bodies = append(s.bodies, append(body, bytes.Repeat([]byte("."), block-len(body))...))
	}
	return s
}

// block appends the block of a number.
func (s *stream) block(dst []byte, number uint64) []byte {
	body := s.bodies[rand.New(rand.NewPCG(s.seed, number)).IntN(len(s.bodies))]
	head := fmt.Sprintf("\x1b[0m\r\nblock %020d\r\n", number)
	return append(append(dst, head...), body[len(head):]...)
}

// appendPiece appends something that programs print.
func appendPiece(dst []byte, rng *rand.Rand) []byte {
	switch n := rng.IntN(100); {
	case n < 50:
		for range 1 + rng.IntN(12) {
			dst = append(dst, "the quick brown fox jumps over a lazy dog "[:1+rng.IntN(40)]...)
		}
		return dst
	case n < 70:
		return append(dst, "\r\n"...)
	case n < 80:
		return fmt.Appendf(dst, "\x1b[%d;38;5;%d;48;2;%d;%d;%dm", rng.IntN(10), rng.IntN(256), rng.IntN(256), rng.IntN(256), rng.IntN(256))
	case n < 88:
		return fmt.Appendf(dst, "\x1b[%d;%dH", 1+rng.IntN(60), 1+rng.IntN(150))
	}
	rare := []string{
		"\x1b[K", "\x1b[J", "\x1b[2J", "\x1b[3L", "\x1b[2M", "\x1b[5@", "\x1b[4P", "\x1b[7X", "\x1b[2S", "\x1bM", "\x1b7", "\x1b8",
		"\x1b[5;15r", "\x1b[r", "\x1b[?1049h", "\x1b[?1049l", "\x1b[?7l", "\x1b[?7h", "\x1b[4h", "\x1b[4l", "\t", "\b",
		"\x1b]0;a title\x07", "\x07", "日本語", "é́", "👩‍👩‍👧", "\x1b]8;;http://example.invalid\x07link\x1b]8;;\x07", "\x1b(0lqk\x1b(B", "\x1b[?25l", "\x1b[?25h",
	}
	return append(dst, rare[rng.IntN(len(rare))]...)
}

// cursor compares what a viewer gets with the stream.
type cursor struct {
	s      *stream
	next   uint64 // offset that must come next
	number uint64
	have   []byte // the block of that number
}

// check returns an error unless p is what the stream has at offset.
func (c *cursor) check(offset uint64, p []byte) error {
	if offset != c.next {
		return fmt.Errorf("output at offset %d, want %d", offset, c.next)
	}
	for len(p) > 0 {
		if number := c.next / block; c.have == nil || number != c.number {
			c.number, c.have = number, c.s.block(c.have[:0], number)
		}
		want := c.have[c.next%block:]
		n := min(len(p), len(want))
		if !bytes.Equal(p[:n], want[:n]) {
			return fmt.Errorf("output near offset %d is not the program's", c.next)
		}
		c.next += uint64(n)
		p = p[n:]
	}
	return nil
}

// printBytes is the program: it prints size bytes of the stream of a seed, in
// writes of uneven size, and exits with a code. Where told, it waits for a byte
// of input after the first few bytes, and again after some.
func printBytes(args []string) int {
	var n [4]uint64 // seed, size, code, waits
	for i, arg := range args {
		n[i], _ = strconv.ParseUint(arg, 10, 64)
	}
	s, rng := newStream(n[0]), rand.New(rand.NewPCG(n[0], 8))
	waits := 2 * n[3]
	var all []byte
	for number := uint64(0); number*block < n[1]; number++ {
		all = s.block(all[:0], number)
		all = all[:min(block, n[1]-number*block)]
		for len(all) > 0 {
			part := all[:min(len(all), 1+rng.IntN(len(all)))]
			if waits == 2 {
				part = all[:10]
			}
			if _, err := os.Stdout.Write(part); err != nil {
				return 99
			}
			all = all[len(part):]
			if waits > 0 {
				waits--
				os.Stdin.Read(make([]byte, 1))
			}
		}
	}
	return int(n[2])
}

// bytesSpec runs printBytes on a raw terminal, so that its bytes are the
// session's.
func bytesSpec(t *testing.T, seed, size uint64, code int, waits bool) terminal.Spec {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s := spec(fmt.Sprintf("stty raw -echo; exec %s %s %d %d %d %d", exe, bytesProgram, seed, size, code, map[bool]int{true: 1}[waits]))
	return s
}

// watched is what one viewer saw of a session from an offset to its exit. It
// types once it has seen something.
func watched(a terminal.Attachment, s *stream, from uint64, types string) (end uint64, exit terminal.Exit, err error) {
	c := cursor{s: s, next: from}
	for {
		m, err := a.Receive()
		switch {
		case errors.Is(err, io.EOF):
			return c.next, exit, nil
		case err != nil:
			return c.next, exit, err
		}
		switch m.Kind {
		case terminal.MessageOutput:
			if err := c.check(m.Offset, m.Data); err != nil {
				return c.next, exit, err
			}
			if types != "" {
				err = a.Input([]byte(types))
				types = ""
			}
			if err != nil {
				return c.next, exit, err
			}
		case terminal.MessageExit:
			exit = m.Exit
		case terminal.MessageSnapshot, terminal.MessageDetached:
			return c.next, exit, fmt.Errorf("message kind %d at offset %d", m.Kind, m.Offset)
		}
	}
}

// TestExitBytes: 20 KB and an exit, for viewers from before the first byte, from
// the middle, from a moment after the start, and from after the end: each sees
// every byte once, and the exit code.
func TestExitBytes(t *testing.T) {
	runs := 50
	switch {
	case long():
		runs = 1000
	case testing.Short():
		runs = 20
	}
	_, newBackend := newBackends(t)
	var wg sync.WaitGroup
	next := make(chan uint64)
	for range 4 {
		b := newBackend()
		wg.Go(func() {
			for seed := range next {
				if err := exitBytes(t, b, seed); err != nil {
					t.Errorf("run %d: %v", seed, err)
				}
			}
		})
	}
	began := time.Now()
	for seed := range uint64(runs) {
		next <- seed
	}
	close(next)
	wg.Wait()
	t.Logf("%d runs in %v", runs, time.Since(began).Round(time.Millisecond))
}

// exitBytes is one run.
func exitBytes(t *testing.T, b *ptyowner.Backend, seed uint64) error {
	const size = 20 << 10
	ctx, code := context.Background(), int(seed%200)
	waits := seed%2 == 0
	spec := bytesSpec(t, seed, size, code, waits)
	if _, err := b.Start(ctx, spec); err != nil {
		return err
	}
	session, s := b.Session(spec.ID), newStream(seed)
	defer session.Remove(ctx)
	defer session.Stop(ctx, -1)
	var viewers sync.WaitGroup
	errs := make(chan error, 8)
	watch := func(what string, mode terminal.Mode, from uint64, types string) error {
		a, err := session.Attach(ctx, terminal.AttachOptions{Mode: mode, From: &from})
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
		viewers.Go(func() {
			defer a.Close()
			end, exit, err := watched(a, s, from, types)
			if err == nil && (end != size || exit.Offset != size || exit.Code != code) {
				err = fmt.Errorf("ends at %d with %+v, want %d and code %d", end, exit, size, code)
			}
			if err != nil {
				errs <- fmt.Errorf("%s: %w", what, err)
			}
		})
		return nil
	}
	err := watch("from the start", terminal.ModeAttach, 0, map[bool]string{true: "12"}[waits])
	if err == nil {
		var st terminal.Status
		if st, err = session.Status(ctx); err == nil {
			err = watch("from the middle", terminal.ModeWatch, st.Head/2, "")
		}
	}
	viewers.Wait()
	if err == nil {
		err = watch("late", terminal.ModeWatch, 0, "")
		viewers.Wait()
	}
	if err == nil && seed%10 == 0 {
		err = lateFromDisk(ctx, session, func() error {
			err := watch("from disk", terminal.ModeWatch, seed%size, "")
			viewers.Wait()
			return err
		})
	}
	close(errs)
	for e := range errs {
		err = errors.Join(err, e)
	}
	return err
}

// lateFromDisk calls watch when the owner has ended.
func lateFromDisk(ctx context.Context, session terminal.Session, watch func() error) error {
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(2 * time.Millisecond) {
		st, err := session.Status(ctx)
		if err != nil {
			return err
		}
		if st.Source == "disk" {
			return watch()
		}
		if time.Now().After(deadline) {
			return errors.New("the owner did not end")
		}
	}
}
