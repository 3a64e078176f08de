package viewer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"middleman/terminal"
)

// Switch lets the user go to another session without leaving: the switch key
// replaces the screen by a list of sessions. Meanwhile the viewer is detached, so
// that the program goes on as without a viewer.
type Switch struct {
	// Key is the byte of the switch key, 0 for none, Name its name for the user.
	Key  byte
	Name string
	// Requests are those of programs in the session; nil for none.
	Requests <-chan Request
	// List returns the sessions that the user can go to, the likeliest first, and
	// how many ended ones it leaves out.
	List func(context.Context) (choices []Choice, ended int, err error)
	// Open returns the way to the session with that ID, and how to join it.
	Open func(ctx context.Context, id string, takeover bool) (terminal.Session, Options, error)
}

const (
	// listTick is how often the list looks for what does not come by the keyboard.
	listTick = 50 * time.Millisecond
	// listAgain is how old a list becomes before it is read again.
	listAgain = 2 * time.Second

	enterList = "\x1b[?1049h\x1b[?25h"
	leaveList = "\x1b[0m\x1b[?1049l"
)

// list is the picker on the user's terminal.
type list struct {
	picker
	v       *viewer
	keys    *keyboard
	resized <-chan os.Signal
	pressed []byte // keys that were read and not acted on
	last    string // what was drawn

	read chan listing // what is being read; nil between two reads
	came time.Time    // when the last was read
}

// listing is what Switch.List returned.
type listing struct {
	choices []Choice
	ended   int
	err     error
}

// change shows the list of sessions, and returns a viewer that has joined the
// one that the user chose, or again v's own. With an error it returns v, and the
// terminal shows what it showed before the session; errDetached means that the
// user pressed the detach key.
func (v *viewer) change(ctx context.Context, resized <-chan os.Signal) (*viewer, error) {
	keys, err := newKeyboard(v.in)
	if err != nil {
		return v, err
	}
	defer keys.close()
	_, err = io.WriteString(v.out, v.screen.suspend()+enterList)
	v.screen = newScreenTracker()
	l := &list{v: v, keys: keys, resized: resized, pressed: append(v.find.held, v.find.rest...)}
	l.help = fmt.Sprintf("Enter goes there, Esc stays, %s again is typed there", v.o.Switch.Name)
	var next *viewer
	if err == nil && v.asked != nil {
		next, err = l.ask(ctx, *v.asked)
	}
	if err == nil && next == nil {
		next, err = l.choose(ctx)
	}
	if _, e := io.WriteString(v.out, leaveList); err == nil && e != nil {
		next.attachment().Close()
		err = fmt.Errorf("%w: draw: %w", ErrDisconnected, e)
	}
	if err != nil {
		return v, err
	}
	next.unread = l.pressed
	return next, nil
}

// choose runs the list until a session was joined.
func (l *list) choose(ctx context.Context) (*viewer, error) {
	reading, stop := context.WithCancel(ctx)
	defer func() {
		stop()
		if l.read != nil {
			<-l.read
		}
	}()
	for {
		l.refresh(reading)
		if err := l.show(l.draw(l.size())); err != nil {
			return nil, err
		}
		key, err := l.next(ctx)
		if err != nil {
			return nil, err
		}
		switch l.v.find.key(controlOf(key)) {
		case detachKey:
			return nil, errDetached
		case switchKey:
			if next, err := l.back(ctx, []byte(key)); next != nil || err != nil {
				return next, err
			}
			continue
		}
		switch l.press(key) {
		case stay:
			if next, err := l.back(ctx, nil); next != nil || err != nil {
				return next, err
			}
		case goThere:
			c, _ := l.selected()
			next, err := l.open(ctx, c.ID, c.Busy)
			if err == nil {
				return next, nil
			}
			if l.note = err.Error(); isBusy(err) {
				l.sayBusy(c.Label)
			}
		}
	}
}

// controlOf returns the control byte that a key is, -1 for any other key.
func controlOf(key string) int {
	if len(key) == 1 {
		return int(key[0])
	}
	return -1
}

// refresh reads the list when it has become old, and takes what was read. It does
// not wait, except for the first list, and for that not long.
func (l *list) refresh(ctx context.Context) {
	if l.read == nil && time.Since(l.came) > listAgain {
		read := make(chan listing, 1)
		l.read = read
		go func() {
			choices, ended, err := l.v.o.Switch.List(ctx)
			read <- listing{choices, ended, err}
		}()
	}
	if l.read == nil {
		return
	}
	wait := time.NewTimer(listTick)
	defer wait.Stop()
	if l.listed {
		wait.Reset(0)
	}
	select {
	case r := <-l.read:
		l.read, l.came = nil, time.Now()
		if r.err != nil {
			l.note = r.err.Error()
			return
		}
		l.choices, l.hidden, l.listed = r.choices, r.ended, true
	case <-wait.C:
	}
}

// show draws text, unless it was drawn last.
func (l *list) show(text string) error {
	if text == l.last {
		return nil
	}
	l.last = text
	if _, err := io.WriteString(l.v.out, text); err != nil {
		return fmt.Errorf("%w: draw: %w", ErrDisconnected, err)
	}
	return nil
}

// size returns the terminal's size.
func (l *list) size() terminal.Size {
	size := Size(l.v.out, l.v.in)
	if size.Cols == 0 || size.Rows == 0 {
		return terminal.DefaultSize
	}
	return size
}

// next returns the next key, or "" if none comes soon.
func (l *list) next(ctx context.Context) (string, error) {
	timeout := listTick
	for {
		if len(l.pressed) > 0 {
			if n := keyLength(l.pressed); n > 0 {
				key := string(l.pressed[:n])
				l.pressed = l.pressed[n:]
				return key, nil
			}
			timeout = keyWait
		}
		n, err := l.keys.read(l.v.keyBuf, timeout)
		switch {
		case ctx.Err() != nil:
			return "", left(ctx)
		case err != nil:
			return "", fmt.Errorf("%w: %w", ErrDisconnected, err)
		case n > 0:
			l.pressed = append(l.pressed, l.v.keyBuf[:n]...)
		case len(l.pressed) > 0: // no more of the key has come
			key := string(l.pressed)
			l.pressed = nil
			return key, nil
		default:
			select {
			case <-l.resized:
				l.last = ""
			default:
			}
			return "", nil
		}
	}
}

// open joins another session.
func (l *list) open(ctx context.Context, id string, takeover bool) (*viewer, error) {
	s, o, err := l.v.o.Switch.Open(ctx, id, takeover)
	if err != nil {
		return nil, err
	}
	next := newViewer(l.v.in, l.v.out, s, o)
	next.before = popTitle + pushTitle + scrollAway(int(Size(l.v.out, l.v.in).Rows))
	if err := next.join(ctx, nil); err != nil {
		return nil, err
	}
	next.arrived()
	return next, nil
}

func isBusy(err error) bool {
	_, busy := errors.AsType[*terminal.BusyError](err)
	return busy
}

// sayBusy says that another terminal was quicker, and reads the list again.
func (l *list) sayBusy(label string) {
	l.came, l.note = time.Time{}, label+" was attached in another terminal meanwhile"
}

// back joins the session again that the user comes from, and types keys there. It
// draws no past lines: the terminal has them. It returns nil if another terminal
// has the session now.
func (l *list) back(ctx context.Context, keys []byte) (*viewer, error) {
	v := newViewer(l.v.in, l.v.out, l.v.session, l.v.o)
	v.o.Takeover, v.scrollback, v.refused = false, 0, l.v.refused
	err := v.join(ctx, nil)
	if errors.Is(err, terminal.ErrUnreachable) {
		err = v.rejoin(ctx, nil)
	}
	if isBusy(err) {
		l.sayBusy(v.o.Label)
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrDisconnected, err)
	}
	v.arrived()
	v.first = keys
	return v, nil
}
