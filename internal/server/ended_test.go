//go:build linux || darwin

package server_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"middleman/internal/api"
)

// opened is what a browser or a program has open with one credential.
type opened struct {
	terminal *websocket.Conn
	events   *http.Response
	wait     chan answer
}

// open opens one of each on a session, and returns once all are.
func (r *running) open(session string, header ...string) *opened {
	r.t.Helper()
	h := http.Header{}
	for i := 0; i < len(header); i += 2 {
		h.Set(header[i], header[i+1])
	}
	o := &opened{wait: make(chan answer, 1)}
	var err error
	o.terminal, _, err = websocket.Dial(r.t.Context(), "ws://"+r.tcp+"/api/v1/sessions/"+session+"/terminal?cols=80&rows=24",
		&websocket.DialOptions{HTTPHeader: h, HTTPClient: browser})
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { o.terminal.CloseNow() })
	o.events, err = browser.Do(r.request("GET", "http://"+r.tcp+"/api/v1/events", nil, header...))
	if err != nil || o.events.StatusCode != 200 {
		r.t.Fatalf("events: %v %+v", err, o.events)
	}
	r.t.Cleanup(func() { _ = o.events.Body.Close() })
	if line, err := bufio.NewReader(o.events.Body).ReadString('\n'); err != nil {
		r.t.Fatalf("events: %q %v", line, err)
	}
	go func() { // joined by ended
		o.wait <- r.browse("GET", "/api/v1/sessions/"+session+"/wait?timeout=10m", nil, header...)
	}()
	for deadline := time.Now().Add(patience); get[api.Session](r, "GET", "/sessions/"+session, nil).Watchers == 0; {
		if time.Now().After(deadline) {
			r.t.Fatal("nobody waits")
		}
	}
	return o
}

// ended checks that all of it ends, and says why where it can.
func (o *opened) ended(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	var last struct{ Type, Code string }
	for {
		kind, data, err := o.terminal.Read(ctx)
		if err != nil {
			if got := websocket.CloseStatus(err); got != websocket.StatusPolicyViolation {
				t.Errorf("terminal closed with %v: %v", got, err)
			}
			break
		}
		if kind == websocket.MessageText {
			if err := json.Unmarshal(data, &last); err != nil {
				t.Fatal(err)
			}
		}
	}
	if last.Type != "error" || last.Code != "unauthorized" {
		t.Errorf("the terminal's last message was %+v", last)
	}
	if _, err := io.Copy(io.Discard, o.events.Body); err != nil {
		t.Errorf("events: %v", err)
	}
	select {
	case a := <-o.wait:
		if a.status != http.StatusUnauthorized || a.problem(t).Code != api.CodeUnauthorized {
			t.Errorf("wait: %d %s", a.status, a.body)
		}
	case <-ctx.Done():
		t.Error("the wait goes on")
	}
}

func TestLogoutEndsWhatIsOpen(t *testing.T) {
	r := newPlace(t).serve(t)
	session := r.workspace("open", &api.NewSession{Command: []string{"cat"}}).Sessions[0].ID
	mine, others := r.login(), r.login()
	o := r.open(session, "Authorization", mine)
	stays, err := browser.Do(r.request("GET", "http://"+r.tcp+"/api/v1/events", nil, "Authorization", others))
	if err != nil || stays.StatusCode != 200 {
		t.Fatalf("events: %v %+v", err, stays)
	}
	defer stays.Body.Close()
	if a := r.browse("POST", "/api/v1/logout", nil, "Authorization", mine); a.status != http.StatusNoContent {
		t.Fatalf("logout: %d %s", a.status, a.body)
	}
	o.ended(t)
	r.workspace("after", nil)
	for lines := bufio.NewScanner(stays.Body); ; {
		if !lines.Scan() {
			t.Fatalf("the other login's events ended: %v", lines.Err())
		}
		if strings.HasPrefix(lines.Text(), "event: workspace") {
			return
		}
	}
}
