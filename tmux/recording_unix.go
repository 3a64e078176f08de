//go:build unix

package tmux

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"middleman/terminal"
	"middleman/terminal/recording"
)

// sizesNote is what an earlier screen says of itself.
const sizesNote = "tmux does not tell at which byte a size changed: what was printed around a resize may be wrapped otherwise"

// captureAt renders the screen as of an offset.
func (s *session) captureAt(at uint64, o terminal.CaptureOptions) (terminal.Capture, error) {
	r, _, err := s.recording()
	if err != nil {
		return terminal.Capture{}, err
	}
	screen, err := r.At(at)
	if err != nil {
		return terminal.Capture{}, fmt.Errorf("session %s: %w", s.id, err)
	}
	c, err := render(screen.Terminal, o, at)
	c.Note = cmp.Or(screen.Note, sizesNote)
	return c, err
}

// recording is what is kept of the session.
func (s *session) recording() (*recording.Recording, record, error) {
	rec, err := s.dir.record()
	if err != nil {
		return nil, rec, err
	}
	o := recording.Options{Size: rec.Size, Started: rec.Created}
	exit, err := s.dir.exit()
	if err != nil {
		return nil, rec, err
	}
	if exit != nil {
		o.Head = exit.Offset
	}
	return recording.Open(s.dir.path(journalDir), o), rec, nil
}

// OffsetAt implements terminal.Session.
func (s *session) OffsetAt(_ context.Context, t time.Time) (uint64, error) {
	r, _, err := s.recording()
	if err != nil {
		return 0, err
	}
	offset, err := r.OffsetAt(t)
	if err != nil {
		return 0, fmt.Errorf("session %s: %w", s.id, err)
	}
	return offset, nil
}

// Recording implements terminal.Session.
func (s *session) Recording(context.Context) (io.ReadCloser, error) {
	r, rec, err := s.recording()
	if err != nil {
		return nil, err
	}
	return r.Cast(recording.Header{Command: strings.Join(rec.Argv, " ")})
}
