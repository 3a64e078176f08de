package ws

import (
	"fmt"
	"sync"

	"github.com/coder/websocket"
)

const (
	// window is how far output may run ahead of what the client has drawn.
	window = 256 << 10
	// maxOutput is the most output in one message.
	maxOutput = 64 << 10
	// maxQueued is what waits to be sent, in bytes and, with textCost each, in
	// text messages. When it is full, the attachment is not read.
	maxQueued = 2 * maxOutput
	textCost  = 1 << 10
)

// outboxItem is one message to send.
type outboxItem struct {
	kind   websocket.MessageType
	data   []byte
	output bool // more output may join it
}

// cost is never 0, so that the queue is bounded in items too.
func (i outboxItem) cost() int { return len(i.data) + textCost }

// outbox is the queue to the WebSocket and the window of the client.
type outbox struct {
	mu      sync.Mutex // guards all below
	changed sync.Cond  // on mu; told of every change
	items   []outboxItem
	queued  int    // cost of items
	spare   []byte // an output buffer to use again
	pong    bool   // a ping is to be answered; several at once get one answer
	offset  uint64 // everything below was queued
	acked   uint64 // everything below was drawn
	waiting bool   // next waits, so what it returned before is sent
	claimed bool   // a caller of claim is sending, and next waits
	closed  bool
	dropped bool
}

func newOutbox(offset uint64) *outbox {
	b := &outbox{offset: offset, acked: offset}
	b.changed.L = &b.mu
	return b
}

// addOutput queues a copy of p, which begins at offset, as the window and the
// queue allow. It blocks meanwhile and returns early when the box is closed.
func (b *outbox) addOutput(offset uint64, p []byte) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if offset != b.offset {
		return fmt.Errorf("output goes on at offset %d, not %d", offset, b.offset)
	}
	for len(p) > 0 {
		for !b.closed && (b.offset-b.acked >= window || b.queued >= maxQueued) {
			b.changed.Wait()
		}
		if b.closed {
			return nil
		}
		n := min(len(p), int(window-(b.offset-b.acked)))
		n = b.join(p[:n])
		b.offset += uint64(n)
		p = p[n:]
		b.changed.Broadcast()
	}
	return nil
}

// maxClaim is the largest output that onOutput sends directly.
const maxClaim = 4 << 10

// claim lets the caller send n bytes of output from offset on directly, and
// then call release. It reports false where something is queued or being sent,
// or where the window has no room.
func (b *outbox) claim(offset uint64, n int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if n > maxClaim || offset != b.offset || b.closed || b.claimed || !b.waiting || len(b.items) > 0 || b.pong ||
		b.offset+uint64(n)-b.acked > window {
		return false
	}
	b.claimed = true
	b.offset += uint64(n)
	return true
}

// release ends a claim, so that next goes on.
func (b *outbox) release() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.claimed = false
	if len(b.items) > 0 || b.pong || b.closed {
		b.changed.Broadcast()
	}
}

// join appends p, or the part of it that fits, to the last message where that
// is output that is not being sent yet, else to a new one. It returns how
// many bytes it took.
func (b *outbox) join(p []byte) int {
	last := len(b.items) - 1
	if last < 0 || !b.items[last].output || len(b.items[last].data) == maxOutput {
		b.items = append(b.items, outboxItem{kind: websocket.MessageBinary, data: b.spare[:0], output: true})
		b.spare = nil
		b.queued += textCost
		last++
	}
	item := &b.items[last]
	n := min(len(p), maxOutput-len(item.data))
	item.data = append(item.data, p[:n]...)
	b.queued += n
	return n
}

// addSnapshot queues a snapshot, which is one binary message however large. So
// it blocks until the queue is empty. The window begins again after it.
func (b *outbox) addSnapshot(offset uint64, p []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for !b.closed && b.queued > 0 {
		b.changed.Wait()
	}
	b.push(outboxItem{kind: websocket.MessageText, data: encode(snapshotMessage{"snapshot", offset, len(p)})})
	b.push(outboxItem{kind: websocket.MessageBinary, data: append([]byte(nil), p...)})
	b.offset, b.acked = offset, offset
}

// addText queues a JSON message after the output before it. It blocks while
// the queue is full.
func (b *outbox) addText(m any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for !b.closed && b.queued >= maxQueued {
		b.changed.Wait()
	}
	b.push(outboxItem{kind: websocket.MessageText, data: encode(m)})
}

// push is called with mu held.
func (b *outbox) push(item outboxItem) {
	if b.closed {
		return
	}
	b.items = append(b.items, item)
	b.queued += item.cost()
	b.changed.Broadcast()
}

// addPong queues the answer to a ping. It never blocks.
func (b *outbox) addPong() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.pong = true
	b.changed.Broadcast()
}

// ack moves the window. An offset from before a snapshot is late, and no
// error.
func (b *outbox) ack(offset uint64) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if offset > b.offset {
		return fmt.Errorf("ack of offset %d, but only the output up to offset %d was sent", offset, b.offset)
	}
	if offset > b.acked {
		b.acked = offset
		b.changed.Broadcast()
	}
	return nil
}

// next blocks for the next message to send. It reports false once the outbox
// is closed and empty. sent is the message before, whose buffer is used again.
func (b *outbox) next(sent outboxItem) (outboxItem, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if sent.output {
		b.spare = sent.data
	}
	b.waiting = true
	for b.claimed && !b.dropped || len(b.items) == 0 && !b.pong && !b.closed {
		b.changed.Wait()
	}
	b.waiting = false
	if b.pong && !b.closed {
		b.pong = false
		return outboxItem{kind: websocket.MessageText, data: encode(pongMessage{"pong"})}, true
	}
	if len(b.items) == 0 {
		return outboxItem{}, false
	}
	item := b.items[0]
	b.items[0] = outboxItem{}
	b.items = b.items[1:]
	b.queued -= item.cost()
	b.changed.Broadcast()
	return item, true
}

// close makes the outbox refuse messages; with drop it also drops the queued
// ones.
func (b *outbox) close(drop bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	if drop {
		b.dropped = true
		b.items, b.queued = nil, 0
	}
	b.changed.Broadcast()
}
