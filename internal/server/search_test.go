//go:build linux || darwin

package server_test

import (
	"strings"
	"testing"

	"middleman/internal/api"
)

func TestSearch(t *testing.T) {
	r := newPlace(t).serve(t)
	w := r.workspace("noisy", nil)
	first := r.session(w, "sh", "-c", `printf 'a \033[31mneedle\033[m here\nstone\n'`)
	second := r.session(w, "sh", "-c", `for i in 1 2 3; do echo 'Needle again'; done; echo one`)
	for _, s := range []api.Session{first, second} {
		get[api.Waited](r, "GET", "/sessions/"+s.ID+"/wait?for=exit&timeout=60s", nil)
	}
	for _, x := range []struct {
		name, query string
		want        []string // sessions and lines
	}{
		{"as it is", "text=needle", []string{first.ID + " a needle here"}},
		{"case ignored, the newest session first", "text=needle&ignore_case=1", []string{second.ID + " Needle again", first.ID + " a needle here"}},
		{"whole word", "text=one&word=1", []string{second.ID + " one"}},
		{"expression", "text=%5Est.ne%24&regex=1", []string{first.ID + " stone"}},
		{"nothing", "text=nowhere", nil},
	} {
		t.Run(x.name, func(t *testing.T) {
			found := get[api.Matches](r, "GET", "/search?"+x.query, nil)
			var got []string
			for _, m := range found.Matches {
				got = append(got, m.SessionID+" "+m.Line)
				if m.Line == "Needle again" && (m.Times != 3 || m.Offset == 0) {
					t.Errorf("%+v: it was printed three times, last not at the beginning", m)
				}
			}
			if strings.Join(got, "\n") != strings.Join(x.want, "\n") || found.Searched != 2 || found.Left != 0 || len(found.Failed) > 0 {
				t.Errorf("got %q of %d sessions, %d left, failed %q; want %q", got, found.Searched, found.Left, found.Failed, x.want)
			}
		})
	}
	for _, bad := range []string{"", "?text=", "?text=%5B&regex=1"} {
		if a := r.call("GET", "/search"+bad, nil); a.status != 422 {
			t.Errorf("%q: %d %s", bad, a.status, a.body)
		}
	}
}
