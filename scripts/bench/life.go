//go:build linux

package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"middleman/terminal"
)

// start is how much later a program's first byte comes in a session than on a
// bare PTY.
func (b *bench) start() error {
	backend := b.ourBackend(filepath.Join(b.dir, "own"), nil)
	var ours, alone []time.Duration
	for range b.pick(60, 12) {
		for _, w := range []struct {
			open func() (*view, error)
			took *[]time.Duration
		}{
			{func() (*view, error) { return b.openSession(backend, b.program(modeEcho, 0)) }, &ours},
			{func() (*view, error) { return openBare(b, b.program(modeEcho, 0)) }, &alone},
		} {
			began := time.Now()
			v, err := w.open()
			if err != nil {
				return err
			}
			err = v.until(readyMark[:1])
			*w.took = append(*w.took, time.Since(began))
			v.end()
			if err != nil {
				return err
			}
		}
	}
	const bar = 20 * time.Millisecond
	beyond := percentile(ours, 50) - percentile(alone, 50)
	b.rows = append(b.rows, row{
		what: "start to first byte, beyond the program's", ours: shown(beyond),
		peer: "bare PTY " + shown(percentile(alone, 50)), bar: "<= " + shown(bar), met: beyond <= bar,
	})
	return nil
}

// exit is the time from a program's last instruction to a viewer that knows.
func (b *bench) exit() error {
	backend := b.ourBackend(filepath.Join(b.dir, "own"), nil)
	var took []time.Duration
	for range b.pick(60, 12) {
		d, err := b.oneExit(backend)
		if err != nil {
			return err
		}
		took = append(took, d)
	}
	b.within("exit seen", took, 20*time.Millisecond)
	return nil
}

// oneExit runs a program that writes when it ends.
func (b *bench) oneExit(backend terminal.Backend) (time.Duration, error) {
	spec := b.spec(b.program(modeExit, 0))
	if _, err := backend.Start(b.ctx, spec); err != nil {
		return 0, err
	}
	s := backend.Session(spec.ID)
	defer s.Remove(context.WithoutCancel(b.ctx))
	from := uint64(0)
	a, err := s.Attach(b.ctx, terminal.AttachOptions{Mode: terminal.ModeAttach, Size: b.size, From: &from})
	if err != nil {
		return 0, err
	}
	defer a.Close()
	var text strings.Builder
	for typed := false; ; {
		m, err := a.Receive()
		if err != nil {
			return 0, err
		}
		if m.Kind == terminal.MessageExit {
			now := time.Now()
			_, stamp, _ := strings.Cut(text.String(), readyMark)
			ended, err := strconv.ParseInt(strings.TrimSuffix(stamp, ";"), 10, 64)
			if err != nil {
				return 0, fmt.Errorf("the program wrote %q: %w", text.String(), err)
			}
			return now.Sub(time.Unix(0, ended)), nil
		}
		text.Write(m.Data)
		if !typed && strings.Contains(text.String(), readyMark) {
			typed = true
			if err := a.Input([]byte("x")); err != nil {
				return 0, err
			}
		}
	}
}
