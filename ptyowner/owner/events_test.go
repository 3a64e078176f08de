//go:build unix

package owner

import (
	"testing"

	"middleman/terminal"
)

// Bells push no size out of the log: a viewer who is far behind still learns of
// each, at its offset, or that it misses one.
func TestSizesOutliveOtherEvents(t *testing.T) {
	var l eventLog
	offset := uint64(0)
	resize := func(n int) {
		for range n {
			offset += 10
			size := terminal.Size{Cols: uint16(offset / 10), Rows: 24}
			l.add(terminal.Event{Kind: terminal.EventSize, Offset: offset, Size: &size})
			for range 2 * keptEvents {
				l.add(terminal.Event{Kind: terminal.EventBell, Offset: offset + 1})
			}
		}
	}
	resize(keptSizes)
	if l.misses(0) {
		t.Error("misses a size, though all are kept")
	}
	var seen, number uint64
	for next := uint64(0); ; next = number + 1 {
		var e terminal.Event
		var ok bool
		if e, number, ok = l.from(next); !ok {
			break
		}
		if number < next {
			t.Fatalf("event %d, asked for %d or higher", number, next)
		}
		if e.Kind == terminal.EventSize {
			if seen += 10; e.Offset != seen || uint64(e.Size.Cols) != seen/10 {
				t.Fatalf("size %v at offset %d, want %d", e.Size, e.Offset, seen)
			}
		}
	}
	if seen != offset {
		t.Errorf("sizes up to offset %d, want %d", seen, offset)
	}
	resize(1)
	if !l.misses(0) || l.misses(1) {
		t.Errorf("misses from 0: %v, from 1: %v; want only the first", l.misses(0), l.misses(1))
	}
}

// Of several sizes at one offset the last is kept: a window that is dragged
// pushes out no other.
func TestOneSizeAtAnOffset(t *testing.T) {
	var l eventLog
	for i := range 10 * keptSizes {
		l.add(terminal.Event{Kind: terminal.EventSize, Offset: 7, Size: &terminal.Size{Cols: uint16(i)}})
	}
	if l.misses(0) {
		t.Error("misses a size")
	}
	if e, number, ok := l.from(0); !ok || number != 10*keptSizes-keptEvents-1 || uint64(e.Size.Cols) != number {
		t.Errorf("first kept: %v at %d, %v", e.Size, number, ok)
	}
}
