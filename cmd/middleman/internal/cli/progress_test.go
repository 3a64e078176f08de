package cli

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"middleman/internal/api"
	"middleman/internal/client"
	"middleman/internal/testenv"
)

// What runs is shown as it is now, not as it was made, and what is quick not
// at all.
func TestProgressDuring(t *testing.T) {
	began := time.Now()
	old := api.Stage{Name: "ready", State: "done", StartedAt: began.Add(-time.Hour)}
	keep := api.Stage{Name: "keep", State: "running", Detail: "100 of 200 files", StartedAt: began.Add(time.Hour)}
	for _, tc := range []struct {
		name   string
		stages []api.Stage
		want   string
	}{
		{"not begun", []api.Stage{old}, "deleting w: look, "},
		{"in a stage", []api.Stage{old, keep}, "deleting w: keep 100 of 200 files, "},
	} {
		t.Run(tc.name, func(t *testing.T) {
			server := answering(t, api.Workspace{Name: "w", Label: "w", Stages: tc.stages})
			lines, w := io.Pipe()
			p := newProgress(w, "deleting")
			p.after = 0
			err := p.During(t.Context(), server, "w1", func() error {
				line := make([]byte, 100)
				n, err := lines.Read(line)
				if got := string(line[:n]); !strings.HasPrefix(got, tc.want) {
					t.Errorf("shown: %q, want %q", got, tc.want)
				}
				lines.Close()
				return err
			})
			if err != nil {
				t.Error(err)
			}
			var quick strings.Builder
			p = newProgress(&quick, "deleting")
			if err := p.During(t.Context(), server, "w1", func() error { return io.EOF }); err != io.EOF || quick.Len() > 0 {
				t.Errorf("%v, shown: %q, want nothing", err, quick.String())
			}
		})
	}
}

// answering is a client of a server that only knows w.
func answering(t *testing.T, w api.Workspace) *client.Client {
	t.Helper()
	socket := filepath.Join(testenv.ShortDir(t), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(out http.ResponseWriter, _ *http.Request) {
		if err := json.NewEncoder(out).Encode(w); err != nil {
			t.Error(err)
		}
	})}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	c := client.New(socket)
	t.Cleanup(func() {
		c.Close()
		server.Close()
		<-ended
	})
	return c
}
