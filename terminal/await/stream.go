package await

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"middleman/terminal"
)

// Stream copies a session's output, in order and each byte once.
type Stream struct {
	Session terminal.Session
	// Client names this viewer to others, such as "logs".
	Client string
	// From is the offset of the next byte to copy. Copy and Follow advance it.
	From uint64
	// Write takes output, which is valid during the call. Its error ends the
	// copy. If Write is nil, Follow only waits for the exit.
	Write func(p []byte) error
	// Missing, unless nil, is told which output is left out because it is not
	// kept.
	Missing func(from, to uint64)
}

// Copy copies what is kept up to the present head. It reports output that was
// never kept, because a disk was full, to Missing. Output that is no longer
// kept is a *terminal.TrimmedError.
func (s *Stream) Copy(ctx context.Context) error {
	for {
		err := s.copyKept(ctx)
		missing, to, gap := terminal.Gap(err)
		if !gap || ctx.Err() != nil || to <= s.From {
			return err
		}
		s.skip(missing, to)
	}
}

// copyKept copies up to the head, or to where output is missing.
func (s *Stream) copyKept(ctx context.Context) error {
	r, err := s.Session.Output(ctx, s.From)
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { r.Close() })
	defer stop()
	_, err = io.Copy(writer{s}, r)
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	return errors.Join(err, r.Close())
}

// writer passes a stream's output on.
type writer struct{ s *Stream }

func (w writer) Write(p []byte) (int, error) {
	w.s.From += uint64(len(p))
	return len(p), w.s.Write(p)
}

// skip leaves output out.
func (s *Stream) skip(from, to uint64) {
	if s.Missing != nil {
		s.Missing(from, to)
	}
	s.From = to
}

const (
	// silence is how long Follow asks a session that does not answer. An owner
	// may start, end or be replaced meanwhile, and sends no event for that.
	silence = 3 * time.Second
	// askAgain is the pause between two tries.
	askAgain = 50 * time.Millisecond
)

// Follow copies what is kept and what is printed until the program exits, and
// returns the exit. It watches the session, so it also gets output that is in
// no journal because the disk is full. If its connection breaks, or it was
// dropped because Write took long, it goes on from where it was. Output that
// was dropped from the journal meanwhile is reported to Missing. A session
// proved dead without an exit record is terminal.ErrGone.
func (s *Stream) Follow(ctx context.Context) (*terminal.Exit, error) {
	var since time.Time // when the session began not to answer; zero while it does
	for {
		began, from := time.Now(), s.From
		exit, err := s.watch(ctx)
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case !errors.Is(err, terminal.ErrUnreachable):
			return exit, err
		case since.IsZero() || s.From > from || time.Since(began) > silence:
			since = time.Now()
		case time.Since(since) > silence:
			return nil, err
		}
		if err := pause(ctx, askAgain); err != nil {
			return nil, err
		}
	}
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// watch follows until the exit or until the connection ends.
func (s *Stream) watch(ctx context.Context) (*terminal.Exit, error) {
	a, err := s.Session.Attach(ctx, terminal.AttachOptions{
		Mode: terminal.ModeWatch, Client: s.Client, From: &s.From, NoOutput: s.Write == nil, Reader: true,
	})
	if errors.Is(err, terminal.ErrRange) {
		return s.exitBefore(ctx, err)
	}
	if err != nil {
		return nil, err
	}
	defer a.Close()
	defer context.AfterFunc(ctx, func() { a.Close() })()
	for {
		m, err := a.Receive()
		if errors.Is(err, io.EOF) {
			err = fmt.Errorf("%w: watching ended without the exit", terminal.ErrUnreachable)
		}
		if err != nil {
			return nil, err
		}
		switch m.Kind {
		case terminal.MessageExit:
			return &m.Exit, nil
		case terminal.MessageDetached:
			return nil, fmt.Errorf("%w: watching was ended (%s)", terminal.ErrUnreachable, m.Reason)
		case terminal.MessageOutput:
			err = s.take(m.Offset, m.Data)
		case terminal.MessageSnapshot:
			// The watcher was too far behind, or output is missing.
			err = s.catchUp(ctx, m.Offset)
		}
		if err != nil {
			return nil, err
		}
	}
}

// exitBefore returns the exit of a session that ended before the offset of the
// next byte: a full disk kept the last output out of the journal, and it was
// copied already. Otherwise it returns beyond.
func (s *Stream) exitBefore(ctx context.Context, beyond error) (*terminal.Exit, error) {
	status, err := s.Session.Status(ctx)
	if err != nil {
		return nil, err
	}
	if status.Exit == nil {
		return nil, beyond
	}
	return status.Exit, nil
}

// take passes on output that begins at offset, without the part that was copied
// before.
func (s *Stream) take(offset uint64, p []byte) error {
	if s.Write == nil {
		s.From = max(s.From, offset+uint64(len(p)))
		return nil // of an owner that cannot leave output out
	}
	if offset > s.From {
		s.skip(s.From, offset)
	}
	p = p[min(s.From-offset, uint64(len(p))):]
	if len(p) == 0 {
		return nil
	}
	_, err := writer{s}.Write(p)
	return err
}

// catchUp copies what the journal has up to the head, in place of a snapshot as
// of offset.
func (s *Stream) catchUp(ctx context.Context, offset uint64) error {
	if s.Write == nil {
		s.From = max(s.From, offset)
		return nil
	}
	for {
		err := s.Copy(ctx)
		trimmed, ok := errors.AsType[*terminal.TrimmedError](err)
		if !ok || trimmed.Oldest <= s.From {
			return err
		}
		s.skip(s.From, trimmed.Oldest)
	}
}
