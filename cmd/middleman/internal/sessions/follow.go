package sessions

import (
	"context"
	"errors"
	"fmt"
	"io"

	"middleman/cmd/middleman/internal/catalog"
	"middleman/cmd/middleman/internal/cli"
	"middleman/internal/api"
	"middleman/terminal"
)

// follower copies a session's output from an offset to the exit. It watches the
// session, so it also gets output that is in no journal because the disk is
// full.
type follower struct {
	w       io.Writer
	flush   func() error
	session terminal.Session
	from    uint64
	say     func(from, to uint64) // reports missing output
}

// run follows until the exit. A watcher is dropped if it reads nothing for
// long, for example because its pager waits, or if its connection breaks. Then
// run watches again from the same offset, unless a broken connection brought
// nothing new.
func (f *follower) run(ctx context.Context) error {
	for last := f.from; ; last = f.from {
		again, err := f.watch(ctx)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case !again || errors.Is(err, terminal.ErrUnreachable) && f.from == last:
			return err
		}
	}
}

// watch watches once. again says that run may watch again.
func (f *follower) watch(ctx context.Context) (again bool, err error) {
	a, err := f.session.Attach(ctx, terminal.AttachOptions{Mode: terminal.ModeWatch, Client: "logs", From: &f.from})
	if errors.Is(err, terminal.ErrRange) {
		return false, nil // everything was copied already
	}
	if err != nil {
		return false, err
	}
	defer a.Close()
	defer context.AfterFunc(ctx, func() { a.Close() })()
	for {
		m, err := a.Receive()
		if err != nil {
			return errors.Is(err, terminal.ErrUnreachable), err
		}
		switch m.Kind {
		case terminal.MessageOutput:
			err = f.write(m.Offset, m.Data)
		case terminal.MessageSnapshot:
			// The watcher was too far behind, or output is missing. Copy what
			// the journal has.
			f.from, err = copyOutput(ctx, f.w, f.session, f.from, f.say)
		case terminal.MessageDetached:
			if m.Reason == terminal.DetachPolicy {
				return true, nil
			}
			return false, fmt.Errorf("%w: %s", terminal.ErrUnreachable, m.Reason)
		case terminal.MessageExit:
			return false, nil
		}
		if err != nil {
			return false, err
		}
	}
}

// write copies output that begins at offset, without the part that was copied
// before.
func (f *follower) write(offset uint64, p []byte) error {
	if offset > f.from {
		f.say(f.from, offset)
		f.from = offset
	}
	p = p[min(f.from-offset, uint64(len(p))):]
	f.from += uint64(len(p))
	_, err := f.w.Write(p)
	return errors.Join(err, f.flush())
}

// Follow prints a session's bytes until its program exits, and returns that
// exit as a *cli.ProgramExit.
func Follow(ctx context.Context, c *cli.CLI, s api.Session) error {
	t, err := catalog.Direct(c, s)
	if err == nil {
		err = commands{c}.logs(ctx, t, 0, true, true)
	}
	if err == nil {
		err = askAgain(ctx, func() error { return (&waitFlags{}).wait(ctx, t.Session, nil) })
	}
	if _, own := errors.AsType[*cli.ProgramExit](err); err != nil && !own {
		return fmt.Errorf("follow %s: %w", catalog.Label(s), err)
	}
	return err
}
