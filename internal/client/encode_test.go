package client

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"middleman/internal/api"
)

// What JSON would change is not sent, and the error names it. All else arrives as it is.
func TestNothingIsChangedOnTheWay(t *testing.T) {
	var got []byte
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		got, _ = io.ReadAll(r.Body)
		w.WriteHeader(http.StatusNoContent)
	})
	const bad = "caf\xe9"
	for _, tt := range []struct {
		name string
		in   any
		sent bool
	}{
		{"argument", api.NewSession{Command: []string{"rm", bad}}, false},
		{"argument of a new workspace", api.NewWorkspace{Session: &api.NewSession{Command: []string{bad}}}, false},
		{"argument of a worker", api.NewWorker{Session: api.NewSession{Command: []string{"rm", bad}}}, false},
		{"directory", api.NewWorkspace{Directory: bad}, false},
		{"name", api.Rename{Name: bad}, false},
		{"variable", api.NewSession{Env: []string{"A=" + bad}}, false},
		{"value of a map", map[string]any{"x": []any{bad}}, false},
		{"name in a map", map[string]string{bad: ""}, false},

		{"a real U+FFFD", api.NewSession{Command: []string{"rm", "caf\ufffd", `caf\ufffd`, `\\ufffd`}}, true},
		{"accents and NUL", api.NewSession{Command: []string{"é\x00\u2028<&>"}}, true},
		{"environment in bytes", api.NewSession{CallerEnv: [][]byte{[]byte("A=" + bad)}}, true},
		{"JSON as it is", json.RawMessage(`{"text":"caf\ufffd"}`), true},
		{"nothing set", api.NewWorkspace{}, true},
	} {
		got = nil
		err := c.call(t.Context(), http.MethodPost, "/x", tt.in, nil)
		switch {
		case tt.sent && err != nil:
			t.Errorf("%s: %v", tt.name, err)
		case !tt.sent && (err == nil || got != nil || !strings.Contains(err.Error(), `caf\xe9" is not valid UTF-8`)):
			t.Errorf("%s: %v, and the server got %q", tt.name, err, got)
		case tt.sent:
			if want, _ := json.Marshal(tt.in); string(got) != string(want) {
				t.Errorf("%s: the server got %s, want %s", tt.name, got, want)
			}
		}
	}
}
