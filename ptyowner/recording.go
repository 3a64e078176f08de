package ptyowner

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"middleman/terminal"
	"middleman/terminal/recording"
)

// recording opens the output that is kept of the session. It works without an
// owner, from the state directory. If an owner lives, recording asks it for its
// head.
func (s *session) recording(ctx context.Context) (*recording.Recording, look, error) {
	l, err := s.look()
	if err != nil && !provedDead(l, err) {
		return nil, l, err
	}
	o := recording.Options{Size: l.record.Size, Started: l.record.Created, Head: s.head(ctx, l)}
	return recording.Open(s.dir.Journal(), o), l, nil
}

// captureAt renders the screen as of an offset.
func (s *session) captureAt(ctx context.Context, at uint64, o terminal.CaptureOptions) (c terminal.Capture, err error) {
	rec, _, err := s.recording(ctx)
	if err != nil {
		return c, err
	}
	screen, err := rec.At(at)
	if err != nil {
		return c, fmt.Errorf("session %s: %w", s.dir.ID, err)
	}
	cols, rows := screen.Terminal.Size()
	c = terminal.Capture{
		Offset: at, Size: terminal.Size{Cols: uint16(cols), Rows: uint16(rows)},
		Title: screen.Terminal.Title(), Note: screen.Note,
	}
	c.Hash = recording.Hash(screen.Terminal, o.Rows)
	c.Data, err = recording.Render(screen.Terminal, o)
	return c, err
}

// OffsetAt looks the time up in the journal's index.
func (s *session) OffsetAt(ctx context.Context, t time.Time) (uint64, error) {
	rec, _, err := s.recording(ctx)
	if err != nil {
		return 0, err
	}
	offset, err := rec.OffsetAt(t)
	if err != nil {
		return 0, fmt.Errorf("session %s: %w", s.dir.ID, err)
	}
	return offset, nil
}

// Recording returns the journal as an asciicast.
func (s *session) Recording(ctx context.Context) (io.ReadCloser, error) {
	rec, l, err := s.recording(ctx)
	if err != nil {
		return nil, err
	}
	h := recording.Header{Command: strings.Join(l.record.Argv, " "), Env: map[string]string{"TERM": "xterm-256color"}}
	if l.exit != nil {
		h.Title = l.exit.Title
	}
	return rec.Cast(h)
}
