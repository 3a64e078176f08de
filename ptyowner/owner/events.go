package owner

import (
	"strings"

	"middleman/ptyowner/wire"
	"middleman/terminal"
)

const (
	// keptEvents is how many events a viewer may lag behind. It misses older
	// events, except sizes.
	keptEvents = 64
	// keptSizes is how many older sizes are kept, each at another offset. Bytes
	// can only be drawn at the size that they were written for, so a viewer
	// that would miss a size goes on from a snapshot.
	keptSizes = 256
)

// eventLog keeps the newest events by number, so that no viewer needs a queue.
type eventLog struct {
	next  uint64 // the number of the next event
	ring  [keptEvents]terminal.Event
	sizes []oldSize // sizes that left the ring, by number
	lost  uint64    // one more than the number of the newest size that was dropped
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

// keep adds a size that leaves the ring. If the newest kept size has the same
// offset, s replaces it.
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

// misses reports whether a size with number n or higher was dropped.
func (l *eventLog) misses(n uint64) bool { return n < l.lost }

// from returns the first kept event with number n or higher, and its number. ok
// is false if there is none.
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

// sizeAt returns the size that holds at an offset, and the number of the first
// event of a later size. first is the size before all events. ok is false if
// the size at that offset was dropped.
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

// maxEventText bounds an event's text. A program may send more than a frame
// holds, and JSON may encode one byte as six.
const maxEventText = 4 << 10

// newest returns the events in the ring, oldest first.
func (l *eventLog) newest() (events []terminal.Event) {
	for n := l.next - min(l.next, keptEvents); n < l.next; n++ {
		events = append(events, l.ring[n%keptEvents])
	}
	return events
}

// restore makes events the newest events; the last of them gets number next-1.
func (l *eventLog) restore(events []terminal.Event, next uint64) {
	l.next = next - uint64(len(events))
	for _, e := range events {
		l.add(e)
	}
}

// addEvent records e at the present head, or at e.Offset if that lies beyond
// the head. Called with mu held.
func (o *owner) addEvent(e terminal.Event) {
	if len(e.Text) > maxEventText {
		e.Text = strings.ToValidUTF8(e.Text[:maxEventText], "")
	}
	e.Offset = max(e.Offset, o.recent.head)
	o.events.add(e)
	o.broadcast()
}

// wireEvent converts an event to its form on the wire.
func wireEvent(e terminal.Event) wire.Event {
	return wire.Event{
		Kind: string(e.Kind), Offset: e.Offset, Text: e.Text,
		Size: (*wire.Size)(e.Size), Writer: (*wire.Writer)(e.Writer),
	}
}
