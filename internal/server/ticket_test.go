//go:build linux || darwin

package server_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/coder/websocket"

	"middleman/internal/api"
	"middleman/internal/store"
)

// ticket gets one.
func (r *running) ticket(session, what, authorization string) string {
	r.t.Helper()
	a := r.browse("POST", "/api/v1/sessions/"+session+"/tickets", api.NewTicket{For: what}, "Authorization", authorization)
	return decode[api.Ticket](r.t, a).Ticket
}

// dial opens a terminal as a browser does, with subprotocols alone.
func (r *running) dial(session, query string, protocols ...string) (protocol string, status int) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), patience)
	defer cancel()
	conn, resp, err := websocket.Dial(ctx, "ws://"+r.tcp+"/api/v1/sessions/"+session+"/terminal?"+query, &websocket.DialOptions{
		HTTPClient: browser, Subprotocols: protocols, HTTPHeader: http.Header{"Origin": {"http://" + r.tcp}},
	})
	if err != nil && resp == nil {
		r.t.Fatal(err)
	}
	if err == nil {
		protocol = conn.Subprotocol()
		conn.CloseNow()
	}
	return protocol, resp.StatusCode
}

// TestRefusedWriter finds, in place of a terminal to write to, a sentence that
// names what the ticket's holder may do.
func TestRefusedWriter(t *testing.T) {
	r := newPlace(t).serve(t)
	w := r.workspace("refused", &api.NewSession{Command: []string{"cat"}})
	id := w.Sessions[0].ID
	for _, x := range []struct{ name, authorization, want string }{
		{"login", r.login(), "the ticket was given for another request: get one for this request"},
		{"full", "Bearer " + r.token(store.ScopeFull, "", time.Hour), "the ticket was given for another request: get one for this request"},
		{"read", "Bearer " + r.token(store.ScopeRead, "", time.Hour), "the token's scope is read, which does not cover this"},
		{"session", "Bearer " + r.token(store.ScopeSession, id, time.Hour), "the token's scope is session, which does not cover this"},
	} {
		ticket := r.ticket(id, "watch", x.authorization)
		a := r.browse("GET", "/api/v1/sessions/"+id+"/terminal?mode=attach", nil, "Sec-WebSocket-Protocol", "middleman.v1, ticket."+ticket)
		if a.status != 403 || a.problem(t).Detail != x.want {
			t.Errorf("%s: status %d, %s; want %s", x.name, a.status, a.body, x.want)
		}
	}
}

func TestTickets(t *testing.T) {
	r := newPlace(t).serve(t)
	w := r.workspace("tickets", &api.NewSession{Command: []string{"cat"}})
	id, other := w.Sessions[0].ID, r.session(w, "cat").ID
	login, read := r.login(), "Bearer "+r.token(store.ScopeRead, "", time.Hour)
	for _, x := range []struct {
		name, what, session, query string
		status                     int
	}{
		{"attach", "attach", id, "mode=attach", 101},
		{"watch", "watch", id, "mode=watch", 101},
		{"watch with the ticket of a writer", "attach", id, "mode=watch", 101},
		{"attach with the ticket of a watcher", "watch", id, "mode=attach", 403},
		{"another session", "attach", other, "mode=attach", 401},
		{"of a download", "recording", id, "mode=watch", 401},
	} {
		ticket := r.ticket(id, x.what, login)
		protocol, status := r.dial(x.session, x.query, "middleman.v1", "ticket."+ticket)
		if status != x.status || (status == 101) != (protocol == "middleman.v1") {
			t.Errorf("%s: status %d, protocol %q", x.name, status, protocol)
		}
		if _, status := r.dial(id, "mode=watch", "middleman.v1", "ticket."+ticket); status != 401 {
			t.Errorf("%s: again: status %d", x.name, status)
		}
	}
	if _, status := r.dial(id, "mode=watch", "middleman.v1"); status != 401 {
		t.Errorf("without a ticket: status %d", status)
	}
	if a := r.browse("POST", "/api/v1/sessions/"+id+"/tickets", api.NewTicket{For: "attach"}, "Authorization", read); a.status != 403 {
		t.Errorf("a token that only reads gets a writer's ticket: %d", a.status)
	}
	for _, x := range []struct {
		name, what, path string
		status           int
	}{
		{"recording", "recording", "/sessions/" + id + "/recording", 200},
		{"output", "output", "/sessions/" + id + "/output", 200},
		{"another download", "output", "/sessions/" + id + "/recording", 401},
		{"another session's", "recording", "/sessions/" + other + "/recording", 401},
		{"the lists", "recording", "/workspaces", 401},
		{"a capture", "watch", "/sessions/" + id + "/capture", 401},
	} {
		ticket := r.ticket(id, x.what, read)
		for i, status := range []int{x.status, 401} {
			if a := r.browse("GET", "/api/v1"+x.path+"?ticket="+ticket, nil); a.status != status {
				t.Errorf("%s, time %d: status %d: %s", x.name, i+1, a.status, a.body)
			}
		}
	}
}
