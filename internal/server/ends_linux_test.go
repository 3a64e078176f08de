package server_test

import (
	"testing"
	"time"

	"middleman/internal/api"
)

// Revoking, rotating and expiry end what a token has open: a terminal, an event stream, a
// wait, and a connection between two requests.
func TestTokenEndsWhatIsOpen(t *testing.T) {
	t.Parallel() // it waits most of the time
	r := newPlace(t).serve(t)
	id := r.workspace("w", &api.NewSession{Command: []string{"cat"}}).Sessions[0].ID
	const life = 30 * time.Second // by when all are open, also on a slow machine
	for name, end := range map[string]func(){
		"revoke": func() { r.call("DELETE", "/tokens/revoke", nil) },
		"rotate": func() { r.call("POST", "/tokens/rotate/rotate", nil) },
		"expiry": func() {},
	} {
		t.Run(name, func(t *testing.T) {
			in := api.NewToken{Name: name, Scope: "full"}
			if name == "expiry" {
				in.Life = life.String()
			}
			made := get[api.CreatedToken](r, "POST", "/tokens", in)
			o := r.open(id, "Authorization", "Bearer "+made.Secret)
			idle := r.keepOpen("/workspaces", made.Secret)
			end()
			o.ended(t)
			until(t, idle.Conn)
			if status := r.status("GET", "/workspaces", "Bearer "+made.Secret); status != 401 {
				t.Errorf("a new request: %d", status)
			}
		})
	}
}
