package events

import (
	"strings"
	"testing"

	"middleman/internal/api"
)

func TestHubForgetsAndSaysSo(t *testing.T) {
	h := New(4)
	for range 6 {
		h.Publish("", api.Event{Type: "session"})
	}
	for _, x := range []struct {
		seq   uint64
		whole bool
		count int
	}{{6, true, 0}, {5, true, 1}, {2, true, 4}, {1, false, 0}, {0, false, 0}, {7, false, 0}} {
		list, whole, head, _ := h.After(x.seq)
		if whole != x.whole || len(list) != x.count || head != 6 {
			t.Errorf("after %d: %d events, whole %v, head %d", x.seq, len(list), whole, head)
		}
		if len(list) > 0 && (list[0].Seq != x.seq+1 || list[len(list)-1].Seq != 6) {
			t.Errorf("after %d: %+v", x.seq, list)
		}
	}
	for id, want := range map[string]bool{h.ID(3): true, "3": false, "": false, h.boot + ".": false, "other.3": false, h.boot + ".x": false} {
		if _, ok := h.Parse(id); ok != want {
			t.Errorf("parse %q: %v", id, ok)
		}
	}
}

// Long texts push out older events, and who was there is told that some are missing.
func TestHubForgetsLongTexts(t *testing.T) {
	h := New(64)
	long := &api.Approval{Arguments: strings.Repeat("x", maxWeight/4)}
	h.Publish("", api.Event{Type: "session"})
	for range 8 {
		h.Publish("", api.Event{Type: "approval", Approval: long})
	}
	for seq, want := range map[uint64]int{9: 0, 8: 1, 5: 4, 4: -1, 0: -1} {
		list, whole, _, _ := h.After(seq)
		if whole != (want >= 0) || whole && len(list) != want {
			t.Errorf("after %d: %d events, whole %v", seq, len(list), whole)
		}
	}
	kept := 0
	for _, r := range h.ring {
		kept += weight(r.Event)
	}
	if kept > maxWeight || kept != h.weight {
		t.Errorf("%d bytes are kept, counted are %d", kept, h.weight)
	}
	h.Publish("", api.Event{Type: "approval", Approval: &api.Approval{Diff: strings.Repeat("x", 2*maxWeight)}})
	if list, whole, _, _ := h.After(9); !whole || len(list) != 1 {
		t.Errorf("the newest: %d events, whole %v", len(list), whole)
	}
}
