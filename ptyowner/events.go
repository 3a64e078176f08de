//go:build unix

package ptyowner

import (
	"strings"

	"middleman/terminal"
)

// keptEvents is how many events a viewer may be behind; older ones it misses.
const keptEvents = 64

// eventLog keeps the newest events by number, so that viewers need no queue.
type eventLog struct {
	next uint64 // the number of the next event
	ring [keptEvents]terminal.Event
}

func (l *eventLog) add(e terminal.Event) {
	l.ring[l.next%keptEvents] = e
	l.next++
}

// from returns the first kept event whose number is n or higher, and its
// number; ok is false where there is none.
func (l *eventLog) from(n uint64) (e terminal.Event, number uint64, ok bool) {
	if l.next > keptEvents {
		n = max(n, l.next-keptEvents)
	}
	if n >= l.next {
		return terminal.Event{}, n, false
	}
	return l.ring[n%keptEvents], n, true
}

// maxEventText is how much of an event's text is passed on: a program may send
// more than a frame holds, and JSON makes up to six bytes of one.
const maxEventText = 4 << 10

// all are the kept events, oldest first.
func (l *eventLog) all() (events []terminal.Event) {
	for at := uint64(0); ; at++ {
		e, number, ok := l.from(at)
		if !ok {
			return events
		}
		events, at = append(events, e), number
	}
}

// restore makes events the kept ones, of which the last has the number before
// next.
func (l *eventLog) restore(events []terminal.Event, next uint64) {
	l.next = next - uint64(len(events))
	for _, e := range events {
		l.add(e)
	}
}

// addEvent records e as of the present head, or the offset that it has, where
// that is yet to come. Called with mu held.
func (o *owner) addEvent(e terminal.Event) {
	if len(e.Text) > maxEventText {
		e.Text = strings.ToValidUTF8(e.Text[:maxEventText], "")
	}
	e.Offset = max(e.Offset, o.recent.head)
	o.events.add(e)
	o.changed.Broadcast()
}
