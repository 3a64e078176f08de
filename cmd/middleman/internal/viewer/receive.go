package viewer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"middleman/terminal"
)

// begin prepares the terminal for a screen.
func (v *viewer) begin() error {
	if v.o.From != nil {
		return nil
	}
	_, err := io.WriteString(v.out, v.before+v.screen.clear())
	return err
}

// receive draws what the session sends until the viewing ends.
func (v *viewer) receive(ctx context.Context) (End, error) {
	for {
		m, err := v.next()
		switch {
		case ctx.Err() != nil:
			return End{}, left(ctx)
		case errors.Is(err, terminal.ErrUnreachable):
			v.loan.giveBack(keysRead{}) // else no goroutine would see the keys of our own
			v.attachment().Close()      // it is broken
			drawn := v.offset
			if err := v.rejoin(ctx, &drawn); err != nil {
				return End{}, err
			}
			continue
		case err != nil:
			return End{}, fmt.Errorf("%w: %w", ErrDisconnected, err)
		}
		switch m.Kind {
		case terminal.MessageOutput:
			err = v.draw(m.Offset, m.Data)
		case terminal.MessageSnapshot:
			err = v.drawSnapshot(m.Offset, m.Data)
		case terminal.MessageEvent:
			switch size := m.Event.Size; {
			case v.window == nil:
			case size != nil:
				err = v.window.resizeSession(*size)
			case m.Event.Kind == terminal.EventWriter:
				err = v.window.setWriter(m.Event.Writer != nil)
			}
		case terminal.MessageDetached:
			return End{}, fmt.Errorf("%w: %s", ErrDisconnected, reason(v.o, m.Reason))
		case terminal.MessageExit:
			return End{Exit: &m.Exit}, nil
		}
		if err != nil {
			return End{}, fmt.Errorf("%w: draw: %w", ErrDisconnected, err)
		}
	}
}

// left returns why the user's side ended the viewing; nil if the user detached.
func left(ctx context.Context) error {
	cause := context.Cause(ctx)
	if errors.Is(cause, errDetached) {
		return nil
	}
	return cause
}

// reason explains why the session ended the viewing, for example by tmux's
// detach-client, or because the viewer did not read for long.
func reason(o Options, r terminal.DetachReason) string {
	switch r {
	case terminal.DetachTakeover:
		return fmt.Sprintf("another viewer took %s over", o.Label)
	case terminal.DetachStop:
		return fmt.Sprintf("%s is being stopped", o.Label)
	}
	return fmt.Sprintf("%s goes on; middleman %s %s comes back", o.Label, o.Mode, o.Label)
}

// draw writes output that begins at offset. It removes queries from the replay.
func (v *viewer) draw(offset uint64, p []byte) error {
	v.offset = offset + uint64(len(p))
	if v.replay != nil && offset < v.head {
		n := min(uint64(len(p)), v.head-offset)
		if err := v.write(v.replay.filter(p[:n])); err != nil {
			return err
		}
		p = p[n:]
	}
	if v.replay != nil && v.offset >= v.head {
		rest := v.replay.rest()
		v.replay = nil
		if err := v.write(rest); err != nil {
			return err
		}
	}
	if err := v.write(p); err != nil {
		return err
	}
	if v.offset-v.acked >= ackEvery {
		v.acked = v.offset
		v.attachment().Ack(v.offset) // receive gets the same error
	}
	return nil
}

// drawSnapshot replaces what is drawn by a snapshot.
func (v *viewer) drawSnapshot(offset uint64, p []byte) error {
	v.offset, v.acked = offset, offset
	if v.replay = nil; v.attachment().Hello().HostAnswers {
		v.replay = newHostFilter()
	}
	if err := v.clear(); err != nil {
		return err
	}
	return v.write(p)
}

// clear prepares the terminal for another screen.
func (v *viewer) clear() error {
	if v.window != nil {
		return v.window.restart()
	}
	return v.write([]byte(v.screen.clear()))
}

// write draws p after the clipboard filter. Offsets count the unfiltered bytes.
func (v *viewer) write(p []byte) error {
	if p = v.clipboard.filter(p); len(p) == 0 {
		return nil
	}
	if v.window == nil && len(p) > maxEcho {
		v.loan.giveBack(keysRead{})
	}
	v.outMu.Lock()
	defer v.outMu.Unlock()
	err := v.print(p)
	if v.aside != "" && err == nil {
		err = v.printAside()
	}
	return err
}

// print draws p. Called with outMu held.
func (v *viewer) print(p []byte) error {
	if v.window != nil {
		return v.window.write(p)
	}
	v.screen.observe(p)
	_, err := v.out.Write(p)
	return err
}

// rejoin attaches again after the connection broke or was given up, from the
// offset that is drawn; nil asks for a snapshot. It gives up after Options.Patience.
func (v *viewer) rejoin(ctx context.Context, from *uint64) error {
	began := time.Now()
	deadline := time.NewTimer(cmp.Or(v.o.Patience, reconnectFor))
	defer deadline.Stop()
	tick := time.NewTicker(reconnectEvery)
	defer tick.Stop()
	for {
		err := v.join(ctx, from)
		if err == nil {
			if ctx.Err() != nil {
				v.attachment().Close() // when ctx ended, run may have closed the attachment before this one
				return left(ctx)
			}
			if from == nil {
				return v.clear()
			}
			return nil
		}
		if ctx.Err() != nil {
			return left(ctx)
		}
		if errors.Is(err, terminal.ErrGone) || errors.Is(err, terminal.ErrNotFound) {
			return fmt.Errorf("%w: %s: %w", ErrDisconnected, v.o.Label, err)
		}
		if trimmed, ok := errors.AsType[*terminal.TrimmedError](err); ok && trimmed != nil {
			from = nil
			continue
		}
		if !errors.Is(err, terminal.ErrUnreachable) && time.Since(began) > reconnectFor {
			return fmt.Errorf("%w: %s: %w", ErrDisconnected, v.o.Label, err)
		}
		select {
		case <-tick.C:
		case <-deadline.C:
			return fmt.Errorf("%w: %s: %w", ErrDisconnected, v.o.Label, err)
		case <-ctx.Done():
			return left(ctx)
		}
	}
}
