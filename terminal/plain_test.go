package terminal

import "testing"

func TestPlain(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"late", "session s1: session does not answer: tmux list-panes: context deadline exceeded",
			"session s1: session does not answer: tmux does not answer: its server is stopped, or very busy"},
		{"command", "start session s1: tmux: tmux if-shell: no tmux server is running", "start session s1: tmux: tmux: no tmux server is running"},
		{"another wait", "wait: context deadline exceeded", "wait: context deadline exceeded"},
		{"a path", "/usr/bin/tmux is version 2.9", "/usr/bin/tmux is version 2.9"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := Plain(tt.in); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
