package ws

import (
	"sync"

	"middleman/terminal"
)

// maxQueuedInput bounds the input that waits for a program that does not read:
// bytes, plus textCost for each message. When the queue is full the WebSocket is
// not read, so the rest waits in the client.
const maxQueuedInput = 1 << 20

// inboxItem is something for the attachment; one of the fields is set.
type inboxItem struct {
	input  []byte
	resize *terminal.Size
	ack    *uint64
}

func (i inboxItem) cost() int { return len(i.input) + textCost }

// inbox is the queue to the attachment. Acks overtake input that waits for the
// program.
type inbox struct {
	mu       sync.Mutex // guards all below
	changed  sync.Cond  // on mu; told of every change
	items    []inboxItem
	queued   int     // cost of items
	ack      *uint64 // the newest one
	inFlight bool    // the item that next returned last may not be typed yet
	closed   bool
}

func newInbox() *inbox {
	b := &inbox{}
	b.changed.L = &b.mu
	return b
}

// add queues item and keeps its bytes. It blocks while the inbox is full.
func (b *inbox) add(item inboxItem) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for !b.closed && b.queued >= maxQueuedInput {
		b.changed.Wait()
	}
	if b.closed {
		return
	}
	b.items = append(b.items, item)
	b.queued += item.cost()
	b.changed.Broadcast()
}

// idle reports whether all input was typed and the inbox is open.
func (b *inbox) idle() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.items) == 0 && !b.inFlight && !b.closed
}

// addAck never blocks: the newest ack replaces one that waits.
func (b *inbox) addAck(offset uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ack = &offset
	b.changed.Broadcast()
}

// next blocks for the next item. It reports false once the inbox is closed and
// empty.
func (b *inbox) next() (inboxItem, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.inFlight = false
	for len(b.items) == 0 && b.ack == nil && !b.closed {
		b.changed.Wait()
	}
	if b.ack != nil {
		item := inboxItem{ack: b.ack}
		b.ack = nil
		return item, true
	}
	if len(b.items) == 0 {
		return inboxItem{}, false
	}
	b.inFlight = true
	item := b.items[0]
	b.items[0] = inboxItem{}
	b.items = b.items[1:]
	b.queued -= item.cost()
	b.changed.Broadcast()
	return item, true
}

// close makes the inbox refuse items; with drop it also drops the queued ones.
func (b *inbox) close(drop bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	if drop {
		b.items, b.queued, b.ack = nil, 0, nil
	}
	b.changed.Broadcast()
}
