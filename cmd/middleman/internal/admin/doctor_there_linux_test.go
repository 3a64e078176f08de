package admin

import (
	"testing"

	"middleman/internal/api"
)

func TestDoctorComparesBackendsWithTheServers(t *testing.T) {
	can := finding{"backend tmux", "ok", canStart}
	cannot := finding{"backend tmux", "note", "cannot start sessions: find tmux"}
	there := func(usable bool) []api.Backend {
		b := api.Backend{Name: "tmux", Usable: usable}
		if !usable {
			b.Reason = "find tmux"
		}
		return []api.Backend{{Name: "pty-owner", Usable: true}, b}
	}
	const because = "was started with another PATH or environment"
	for _, tt := range []struct {
		name  string
		own   finding
		there []api.Backend
		want  finding
	}{
		{"no server", can, nil, can},
		{"both can", can, there(true), can},
		{"neither can", cannot, there(false), cannot},
		{"the server cannot", can, there(false),
			finding{"backend tmux", "note", "can start sessions here, but the server cannot (find tmux): it " + because}},
		{"the server can", cannot, there(true),
			finding{"backend tmux", "note", "cannot start sessions: find tmux; the server can, because it " + because}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := compareBackend(tt.own, "tmux", tt.there); got != tt.want {
				t.Errorf("got %+v", got)
			}
		})
	}
}
