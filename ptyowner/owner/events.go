//go:build unix

package owner

import (
	"strings"

	"middleman/ptyowner/wire"
	"middleman/terminal"
)

const (
	// keptEvents is how many events a viewer may be behind; older ones it
	// misses, but for sizes.
	keptEvents = 64
	// keptSizes is how many older sizes are kept, at different offsets: bytes
	// cannot be drawn without the size that they were for. A viewer who would
	// miss one goes on from a snapshot.
	keptSizes = 256
)

// eventLog keeps the newest events by number, so that viewers need no queue.
type eventLog struct {
	next  uint64 // the number of the next event
	ring  [keptEvents]terminal.Event
	sizes []oldSize // those that have left the ring, by number
	lost  uint64    // one more than the number of the newest size that is not kept
}

// oldSize is an event of kind EventSize.
type oldSize struct {
	Number uint64        `json:"number"`
	Offset uint64        `json:"offset"`
	Size   terminal.Size `json:"size"`
}

func (l *eventLog) add(e terminal.Event) {
	if old := l.ring[l.next%keptEvents]; old.Kind == terminal.EventSize {
		l.keep(oldSize{l.next - keptEvents, old.Offset, *old.Size})
	}
	l.ring[l.next%keptEvents] = e
	l.next++
}

// keep adds a size that leaves the ring. Of several at one offset, the last
// holds.
func (l *eventLog) keep(s oldSize) {
	if n := len(l.sizes); n > 0 && l.sizes[n-1].Offset == s.Offset {
		l.sizes[n-1] = s
		return
	}
	if len(l.sizes) == keptSizes {
		l.lost = l.sizes[0].Number + 1
		l.sizes = append(l.sizes[:0], l.sizes[1:]...)
	}
	l.sizes = append(l.sizes, s)
}

// misses reports whether a size whose number is n or higher is not kept.
func (l *eventLog) misses(n uint64) bool { return n < l.lost }

// from returns the first kept event whose number is n or higher, and its
// number; ok is false where there is none.
func (l *eventLog) from(n uint64) (e terminal.Event, number uint64, ok bool) {
	if l.next > keptEvents && n < l.next-keptEvents {
		for _, s := range l.sizes {
			if s.Number >= n {
				return terminal.Event{Kind: terminal.EventSize, Offset: s.Offset, Size: &s.Size}, s.Number, true
			}
		}
		n = l.next - keptEvents
	}
	if n >= l.next {
		return terminal.Event{}, n, false
	}
	return l.ring[n%keptEvents], n, true
}

// sizeAt returns the size that holds from an offset, first being the size
// before all events, and the number of the first event of a later one. ok is
// false where that is not kept.
func (l *eventLog) sizeAt(offset uint64, first terminal.Size) (size terminal.Size, later uint64, ok bool) {
	size, ok = first, l.lost == 0
	for n := uint64(0); ; n++ {
		e, number, found := l.from(n)
		if !found {
			return size, l.next, ok
		}
		n = number
		switch {
		case e.Kind != terminal.EventSize:
		case e.Offset > offset:
			return size, number, ok
		default:
			size, ok = *e.Size, true
		}
	}
}

// maxEventText is how much of an event's text is passed on: a program may send
// more than a frame holds, and JSON makes up to six bytes of one.
const maxEventText = 4 << 10

// newest are the events in the ring, oldest first.
func (l *eventLog) newest() (events []terminal.Event) {
	for n := l.next - min(l.next, keptEvents); n < l.next; n++ {
		events = append(events, l.ring[n%keptEvents])
	}
	return events
}

// restore makes events the newest, of which the last has the number before
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
	o.broadcast()
}

// wireEvent is an event as the wire has it.
func wireEvent(e terminal.Event) wire.Event {
	return wire.Event{
		Kind: string(e.Kind), Offset: e.Offset, Text: e.Text,
		Size: (*wire.Size)(e.Size), Writer: (*wire.Writer)(e.Writer),
	}
}
