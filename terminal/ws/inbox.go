package ws

import (
	"sync"

	"middleman/terminal"
)

// maxTyped is how much waits for a program that does not read, in bytes and,
// with textCost each, in messages. When it is full the WebSocket is not read,
// so the rest waits in the client.
const maxTyped = 1 << 20

// inItem is something for the attachment; one of the fields is set.
type inItem struct {
	input  []byte
	resize *terminal.Size
	ack    *uint64
}

func (i inItem) cost() int { return len(i.input) + textCost }

// inbox is the queue to the attachment. It lets acks and pings through while
// typed bytes wait for the program.
type inbox struct {
	mu      sync.Mutex // guards all below
	changed sync.Cond  // on mu; told of every change
	items   []inItem
	queued  int     // cost of items
	ack     *uint64 // the newest one
	taken   bool    // next's last item may not be typed yet
	closed  bool
}

func newInbox() *inbox {
	b := &inbox{}
	b.changed.L = &b.mu
	return b
}

// add queues item, whose bytes it keeps, and blocks while the box is full.
func (b *inbox) add(item inItem) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for !b.closed && b.queued >= maxTyped {
		b.changed.Wait()
	}
	if b.closed {
		return
	}
	b.items = append(b.items, item)
	b.queued += item.cost()
	b.changed.Broadcast()
}

// idle reports whether all that was added is typed, and more may be.
func (b *inbox) idle() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.items) == 0 && !b.taken && !b.closed
}

// addAck never blocks: the newest ack replaces one that waits.
func (b *inbox) addAck(offset uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ack = &offset
	b.changed.Broadcast()
}

// next blocks for the next item. It is false once the box is closed and empty.
func (b *inbox) next() (inItem, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.taken = false
	for len(b.items) == 0 && b.ack == nil && !b.closed {
		b.changed.Wait()
	}
	if b.ack != nil {
		item := inItem{ack: b.ack}
		b.ack = nil
		return item, true
	}
	if len(b.items) == 0 {
		return inItem{}, false
	}
	b.taken = true
	item := b.items[0]
	b.items[0] = inItem{}
	b.items = b.items[1:]
	b.queued -= item.cost()
	b.changed.Broadcast()
	return item, true
}

// close lets nothing more in; drop also forgets what waits.
func (b *inbox) close(drop bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	if drop {
		b.items, b.queued, b.ack = nil, 0, nil
	}
	b.changed.Broadcast()
}
