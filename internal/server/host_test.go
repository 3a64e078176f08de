//go:build linux || darwin

package server_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"middleman/internal/api"
	"middleman/internal/server"
	"middleman/terminal"
)

// failing is a backend that is usable and starts nothing.
type failing struct {
	terminal.Backend
	err    terminal.StartError
	starts int
}

func (f *failing) Name() string                 { return "tmux" }
func (f *failing) Usable(context.Context) error { return nil }
func (f *failing) List(context.Context) ([]string, error) {
	return nil, nil
}

func (f *failing) Start(_ context.Context, spec terminal.Spec) (terminal.Status, error) {
	f.starts++
	err := f.err
	err.Session = spec.ID
	return terminal.Status{}, &err
}

// Where a backend fails, and not the program, "auto" takes the next one.
func TestABackendThatFailsIsPassedOver(t *testing.T) {
	host := terminal.StartError{Step: "journal", Err: errors.New("the pane ended"), Host: true}
	program := terminal.StartError{Step: "program", Err: errors.New("no such file")}
	for _, tt := range []struct {
		name, backend string
		err           terminal.StartError
		command       string
		status        int
		want          string
	}{
		{"the backend", "auto", host, "/bin/cat", 201, "tmux could not start it (the pane ended): pty-owner hosts it"},
		{"the default is auto", "", host, "/bin/cat", 201, "tmux could not start it (the pane ended): pty-owner hosts it"},
		{"the program", "auto", program, "/bin/cat", 422, "program: no such file"},
		{"forced", "tmux", host, "/bin/cat", 422, "journal: the pane ended"},
		{"neither can", "auto", host, "REPOSITORY/broken", 422, "tmux could not start it (the pane ended) before that"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newPlace(t)
			first := &failing{Backend: p.owners, err: tt.err}
			r := p.serve(t, func(o *server.Options) { o.Backends = []terminal.Backend{first, p.owners} })
			w := r.workspace("w", nil)
			write(t, p.repository+"/broken", "#!/no/such/interpreter\n")
			if err := os.Chmod(p.repository+"/broken", 0o700); err != nil {
				t.Fatal(err)
			}
			tt.command = strings.ReplaceAll(tt.command, "REPOSITORY", p.repository)
			a := r.call("POST", "/workspaces/"+w.ID+"/sessions", api.NewSession{Backend: tt.backend, Command: []string{tt.command}})
			if a.status != tt.status || !strings.Contains(string(a.body), tt.want) {
				t.Fatalf("status %d, want %d and %q: %s", a.status, tt.status, tt.want, a.body)
			}
			rows := get[api.Sessions](r, "GET", "/sessions", nil).Sessions
			if tt.status != 201 {
				if len(rows) != 0 || first.starts != 1 {
					t.Errorf("%d starts, left: %+v", first.starts, rows)
				}
				return
			}
			if len(rows) != 1 || rows[0].Backend != "pty-owner" || rows[0].State != terminal.StateRunning {
				t.Errorf("sessions: %+v", rows)
			}
		})
	}
}
