package events

import (
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
