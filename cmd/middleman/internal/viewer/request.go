package viewer

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/rivo/uniseg"

	"middleman/internal/plaintext"
	"middleman/terminal"
)

// Request asks for another session, for a program in the present one. A program
// must not move the user's keyboard to where the user does not expect it, so the
// user decides.
type Request struct {
	// ID is the session's, Label the user's name for it.
	ID    string
	Label string
	// Takeover asks to take the session over from another terminal.
	Takeover bool
	// Answer is called once, with nil when the terminal shows the session.
	Answer func(error)
}

const (
	// askedFor is how long a question stands before Enter answers it: what is
	// typed before was meant for the program.
	askedFor = 500 * time.Millisecond
	// maxRefused is how many requests in a row the user refuses before they are
	// refused unasked.
	maxRefused = 3
)

// awaitRequest ends the viewing at a request.
func (v *viewer) awaitRequest(ctx context.Context, end context.CancelCauseFunc) {
	if v.o.Switch == nil || v.o.From != nil {
		return
	}
	for {
		select {
		case <-ctx.Done():
			return
		case r := <-v.o.Switch.Requests:
			if v.refused >= maxRefused {
				r.Answer(fmt.Errorf("the terminal stays at %s: its user has refused %d requests in a row", v.o.Label, v.refused))
				continue
			}
			v.asked = &r
			end(errSwitch)
			return
		}
	}
}

// ask asks the user about a request. Enter goes there. Any other key refuses, and
// is typed in the session, where it was meant for; only Esc is not. ask returns
// nil if the user wants the list instead.
func (l *list) ask(ctx context.Context, r Request) (*viewer, error) {
	l.v.refused++
	asked := time.Now()
	for {
		ready := time.Since(asked) >= askedFor
		if err := l.show(question(l.v.o.Label, r, ready, l.size())); err != nil {
			r.Answer(err)
			return nil, err
		}
		key, err := l.next(ctx)
		switch own := l.v.find.key(controlOf(key)); {
		case err != nil:
		case own == detachKey:
			err = errDetached
		case key == "":
			continue
		case own == noKey && (key == keyEnter || key == "\n") && ready:
			l.v.refused = 0
			next, err := l.open(ctx, r.ID, r.Takeover)
			r.Answer(err)
			if err != nil {
				return l.back(ctx, nil)
			}
			return next, nil
		}
		r.Answer(fmt.Errorf("the terminal stays at %s, as its user has decided", l.v.o.Label))
		switch {
		case err != nil:
			return nil, err
		case l.v.find.key(controlOf(key)) == switchKey:
			return nil, nil
		case key != keyEscape:
			l.pressed = append([]byte(key), l.pressed...)
		}
		return l.back(ctx, nil)
	}
}

// question returns what asks about a request on a terminal of that size.
func question(here string, r Request, ready bool, size terminal.Size) string {
	verb := "to show " + plaintext.Line(r.Label)
	if r.Takeover {
		verb += ", and to take it over if it is attached in another terminal"
	}
	cols := int(size.Cols)
	lines := wrap("A program in "+here+" asks "+verb+".", cols)
	if ready {
		lines = append(lines, "")
		lines = append(lines, wrap("Enter goes there. Any other key stays, and is typed here; Esc stays.", cols)...)
	}
	return page(lines, int(size.Rows))
}

// wrap breaks text between words into lines of at most that many columns.
func wrap(text string, cols int) []string {
	var lines []string
	var line bytes.Buffer
	for word := range strings.FieldsSeq(text) {
		if line.Len() > 0 && uniseg.StringWidth(line.String())+1+uniseg.StringWidth(word) > cols {
			lines = append(lines, line.String())
			line.Reset()
		}
		if line.Len() > 0 {
			line.WriteByte(' ')
		}
		line.WriteString(Fit(word, cols))
	}
	return append(lines, line.String())
}
