package runtime

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"middleman/terminal"
)

// attachTimeout bounds the joining of a session.
const attachTimeout = 30 * time.Second

// Session acts on a session of the remote. It does no I/O.
func (r *Remote) Session(id string) terminal.Session { return session{nil, r, id} }

// session is what a bridge to a browser uses of a session: its Attach alone.
type session struct {
	terminal.Session
	r  *Remote
	id string
}

// Attach implements terminal.Session. A connection that broke may still count as
// the attached writer there, for as long as the remote has not noticed. So where
// the writer is an attachment of ours that has ended, the new one takes over.
func (s session) Attach(ctx context.Context, o terminal.AttachOptions) (terminal.Attachment, error) {
	within, cancel := context.WithTimeout(ctx, attachTimeout)
	defer cancel()
	c, err := s.r.ready(within)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", terminal.ErrUnreachable, err)
	}
	a, err := c.Session(s.id).Attach(within, o)
	if busy, ok := errors.AsType[*terminal.BusyError](err); ok && s.r.hasLeft(s.id, busy.Writer.Since) {
		o.Takeover = true
		a, err = c.Session(s.id).Attach(within, o)
	}
	if errors.Is(err, terminal.ErrUnreachable) && ctx.Err() == nil {
		err = fmt.Errorf("%w: %w", terminal.ErrUnreachable, s.r.Failed(err))
	}
	if err != nil {
		return nil, err
	}
	return &attachment{Attachment: a, r: s.r, id: s.id}, nil
}

func (r *Remote) hasLeft(id string, since time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	left, ok := r.left[id]
	return ok && left.Equal(since)
}

// maxLeft bounds Remote.left.
const maxLeft = 1024

func (r *Remote) leaves(id string, w *terminal.Writer) {
	if w == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.left) >= maxLeft {
		clear(r.left) // then others see a writer that is gone until the remote notices
	}
	r.left[id] = w.Since
}

// attachment notes its end.
type attachment struct {
	terminal.Attachment
	r    *Remote
	id   string
	once sync.Once
}

func (a *attachment) Close() error {
	err := a.Attachment.Close()
	a.once.Do(func() { a.r.leaves(a.id, a.Hello().Writer) })
	return err
}
