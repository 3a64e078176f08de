package terminal

import "testing"

func TestStricterClipboard(t *testing.T) {
	viewers := []Clipboard{"allow", "ask", "deny"}
	for session, want := range map[Clipboard][]Clipboard{
		"":        {"allow", "ask", "deny"},
		"allow":   {"allow", "ask", "deny"},
		"ask":     {"ask", "ask", "deny"},
		"deny":    {"deny", "deny", "deny"},
		"unknown": {"deny", "deny", "deny"},
	} {
		for i, viewer := range viewers {
			if got := session.Stricter(viewer); got != want[i] {
				t.Errorf("session %q, viewer %q: %s, want %s", session, viewer, got, want[i])
			}
			if got := viewer.Stricter(session); got != want[i] {
				t.Errorf("viewer %q, session %q: %s, want %s", viewer, session, got, want[i])
			}
		}
	}
}
