package server

import (
	"fmt"
	"testing"
)

// Many callers together get maxBodies, one of them maxBodiesEach; the Unix socket has
// as much of its own; what is given back can be taken again.
func TestBodiesAreShared(t *testing.T) {
	var b bodies
	var held []*heldBody
	take := func(subject string, n int64, want bool) {
		t.Helper()
		h, ok := b.take(subject, n)
		if ok != want {
			t.Fatalf("%s takes %d of %d bytes: %v", subject, n, b.all, ok)
		}
		if ok {
			held = append(held, h)
		}
	}
	for i := range maxBodies / maxBodiesEach {
		subject := fmt.Sprint("token ", i)
		take(subject, maxBodiesEach-1, true)
		take(subject, 2, false)
		take(subject, 1, true)
	}
	take("another", 1, false)
	take(socketSubject, maxBodies, true)
	take(socketSubject, 1, false)
	take("another", 1, false)

	held[0].shrink(maxBodiesEach - 3) // two bytes are free
	held[0].shrink(maxBodiesEach)     // a body does not grow
	take("another", 3, false)
	take("another", 2, true)
	take("token 0", 1, false)
	for _, h := range held {
		h.release()
		h.release() // gives back nothing more
	}
	if b.all != 0 || len(b.of) != 0 {
		t.Errorf("%d bytes, %v are left", b.all, b.of)
	}
}
