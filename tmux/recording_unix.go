//go:build unix

package tmux

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"middleman/terminal/recording"
)

// errNoPast: the journal has the program's bytes and times, but tmux tells
// nobody at which byte it changed a size.
var errNoPast = fmt.Errorf("tmux does not record sizes, so an earlier screen cannot be drawn: export the session and play it, or start it with --backend pty-owner: %w", errors.ErrUnsupported)

// recording is what is kept of the session, in the size that it began with.
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
