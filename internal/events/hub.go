package events

import (
	"strconv"
	"strings"
	"sync"
	"time"

	"middleman/internal/api"
	"middleman/terminal"
)

// Record is an event in the ring.
type Record struct {
	Seq       uint64
	Workspace string // id of the workspace that it is about
	Event     api.Event
}

// Hub keeps the last events in a ring. Subscribers have no queue of their
// own: each reads the ring from where it stands, and one that fell behind the
// ring is told to load everything again.
type Hub struct {
	// boot tells this server's ids from those of the one before.
	boot string
	// mu guards the fields below.
	mu      sync.Mutex
	ring    []Record // seq n is at n % len
	head    uint64   // seq of the last event, 0 before the first
	tail    uint64   // seq of the oldest event that is kept
	weight  int      // bytes of the long texts of those that are kept
	changed chan struct{}
}

// New returns a hub that keeps the last size events.
func New(size int) *Hub {
	return &Hub{boot: terminal.NewID("e"), ring: make([]Record, size), tail: 1, changed: make(chan struct{})}
}

// maxWeight bounds the bytes of long texts in the ring: agents choose what they ask.
const maxWeight = 16 << 20

// weight is how many bytes of text an event has that may be long.
func weight(e api.Event) int {
	if e.Approval == nil {
		return 0
	}
	return len(e.Approval.Arguments) + len(e.Approval.Diff)
}

// Publish adds an event, about a workspace or, with "", about none, and wakes all
// readers that wait.
func (h *Hub) Publish(workspaceID string, e api.Event) {
	e.Time = time.Now().UTC()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.head++
	size := uint64(len(h.ring))
	h.weight += weight(e)
	for h.tail+size <= h.head || h.weight > maxWeight && h.tail < h.head {
		old := &h.ring[h.tail%size]
		h.weight -= weight(old.Event)
		*old = Record{}
		h.tail++
	}
	h.ring[h.head%size] = Record{Seq: h.head, Workspace: workspaceID, Event: e}
	close(h.changed)
	h.changed = make(chan struct{})
}

// After returns the events after seq, whether none of them is missing, the
// last seq, and a channel that is closed at the next event.
func (h *Hub) After(seq uint64) (list []Record, whole bool, head uint64, changed <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	size := uint64(len(h.ring))
	if seq > h.head || seq+1 < h.tail {
		return nil, false, h.head, h.changed
	}
	for n := seq + 1; n <= h.head; n++ {
		list = append(list, h.ring[n%size])
	}
	return list, true, h.head, h.changed
}

// Now is the last seq.
func (h *Hub) Now() uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.head
}

// ID is the name of an event towards clients.
func (h *Hub) ID(seq uint64) string { return h.boot + "." + strconv.FormatUint(seq, 10) }

// Parse returns the seq of an id, and whether it is one of this server's.
func (h *Hub) Parse(id string) (uint64, bool) {
	boot, n, found := strings.Cut(id, ".")
	seq, err := strconv.ParseUint(n, 10, 64)
	return seq, err == nil && found && boot == h.boot
}
