//go:build unix

package runtime

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	goruntime "runtime"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/yamux"

	"middleman/internal/api"
	"middleman/terminal"
)

func TestItems(t *testing.T) {
	for in, want := range map[string]int{
		``: 0, `{}`: 1, `[]`: 1, `[null]`: 1, `[null,null]`: 2, `[{},{}]`: 4, `{"a":[1,2,3],"b":"x,[,"}`: 4, `["a,b","\",","c"]`: 3, `[[],[]]`: 4, `]]],`: 0,
	} {
		if got := items([]byte(in)); got != want {
			t.Errorf("%s: %d items, want %d", in, got, want)
		}
	}
}

// A list of a million nothings is a few megabytes to send, and a gigabyte to keep: it
// is given up before it is decoded, wherever it comes.
func TestListOfNothings(t *testing.T) {
	nothings := strings.TrimSuffix(strings.Repeat("null,", 1<<20), ",")
	for name, answer := range map[string]string{
		"sessions":   `{"sessions":[` + nothings + `]}`,
		"workspaces": `{"workspaces":[` + nothings + `]}`,
		"in one":     `{"workspaces":[{"sessions":[` + nothings + `]}]}`,
		"objects":    `{"sessions":[` + strings.TrimSuffix(strings.Repeat("{},", 1<<20), ",") + `]}`,
	} {
		for _, status := range []int{200, 409} {
			r := remoteOf(t, func(w http.ResponseWriter, r *http.Request) {
				if strings.HasSuffix(r.URL.Path, "/version") {
					fmt.Fprint(w, ours)
					return
				}
				w.WriteHeader(status)
				fmt.Fprint(w, answer)
			}, nil)
			var before, after goruntime.MemStats
			goruntime.ReadMemStats(&before)
			err := r.Call(t.Context(), "GET", "/workspaces", nil, nil, time.Minute, &api.Workspaces{})
			goruntime.ReadMemStats(&after)
			if r.Status().Reason != TooMuch {
				t.Errorf("%s, %d: %v, %+v", name, status, err, r.Status())
			}
			if used := after.TotalAlloc - before.TotalAlloc; used > 128<<20 {
				t.Errorf("%s, %d: %d MB were allocated for it", name, status, used>>20)
			}
		}
	}
}

// What a remote calls things cannot hide in a list, and it has no say in the order.
func TestNamesAndOrderOfARemote(t *testing.T) {
	in := &api.Workspaces{Workspaces: []api.Workspace{{
		Name: "fix\x1b]0;pwned\a", Label: "fix\u202egnp", Branch: "b\nc", Attention: &api.Attention{Group: "needs-you", Order: " "},
		Sessions: []api.Session{{Name: "sh\r\x1b[2J", WorkspaceName: "\u2066x", State: "running\x1b[31m", Attention: &api.Attention{Group: "<b>", Order: " first"}}, {}},
	}}}
	tidy("box", in, false)
	w := in.Workspaces[0]
	for what, text := range map[string]string{
		"name": w.Name, "label": w.Label, "branch": w.Branch, "session": w.Sessions[0].Name, "workspace of a session": w.Sessions[0].WorkspaceName, "state": string(w.Sessions[0].State),
	} {
		if strings.ContainsAny(text, "\x1b\a\r\n\u202e\u2066") {
			t.Errorf("%s: %q", what, text)
		}
	}
	for i, a := range []*api.Attention{w.Attention, w.Sessions[0].Attention, w.Sessions[1].Attention} {
		if a == nil || a.Group != "ended" && a.Group != "working" || a.Order == " " || a.Order == " first" {
			t.Errorf("%d is sorted by %+v", i, a)
		}
	}
	gone := Told(api.Runtime{}, Listing{Sessions: []api.Session{{ID: "s1", Runtime: "box", State: terminal.StateRunning, Attention: &api.Attention{Group: "needs-you"}}}}, false)
	if a := gone.Sessions[0].Attention; a.State != "its machine is unreachable" {
		t.Errorf("while its machine is away: %+v", a)
	}
}

// What a remote says of its build is short, and shows as it is.
func TestVersionOfARemote(t *testing.T) {
	said, _ := json.Marshal(strings.Repeat("1\x1b[2J", 1000))
	r := remoteOf(t, says(200, `{"version":`+string(said)+`,"api":1,"oldest_api":1}`), nil)
	if v := r.Check(t.Context()).Version; v == "" || len(v) > 64 || strings.Contains(v, "\x1b") {
		t.Errorf("%q", v)
	}
	features := `{"version":"1","api":1,"oldest_api":1,"features":["` + strings.Repeat("x", 1<<20) + `"]}`
	if status := remoteOf(t, says(200, features), nil).Check(t.Context()); status.Reason != TooMuch {
		t.Errorf("a megabyte of features: %+v", status)
	}
}

// Of the connections of one hub, those over a bound are closed, and the others go on.
func TestManyConnectionsThroughABridge(t *testing.T) {
	hub, there := net.Pipe()
	defer hub.Close()
	ended := make(chan error, 1)
	go func() {
		ended <- Bridge(t.Context(), there, there, "1.0", func(ctx context.Context) (net.Conn, error) {
			near, far := net.Pipe()
			go func() { _, _ = io.Copy(far, far); far.Close() }() // an echo
			return near, nil
		})
	}()
	line := make([]byte, len(newGreeting("1.0")))
	if _, err := io.ReadFull(hub, line); err != nil {
		t.Fatal(err)
	}
	mux, err := yamux.Client(hub, muxConfig())
	if err != nil {
		t.Fatal(err)
	}
	answers := func(s *yamux.Stream) bool {
		do(s.SetDeadline(time.Now().Add(time.Minute)))
		if _, err := s.Write([]byte("x")); err != nil {
			return false
		}
		_, err := io.ReadFull(s, make([]byte, 1))
		return err == nil
	}
	var first *yamux.Stream
	for i := range maxBridged + 1 {
		s, err := mux.OpenStream()
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = s
		}
		if got := answers(s); got != (i < maxBridged) {
			t.Fatalf("connection %d answers: %v", i, got)
		}
	}
	if !answers(first) {
		t.Error("the first connection has ended")
	}
	mux.Close()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
