package client

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"middleman/internal/api"
	"middleman/internal/config"
	"middleman/internal/testenv"
	"middleman/workspace"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serve answers on a Unix socket with handler, and returns a client of it.
func serve(t *testing.T, handler http.HandlerFunc) *Client {
	t.Helper()
	socket := filepath.Join(testenv.ShortDir(t), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: handler}
	done := make(chan error, 1)
	go func() { done <- server.Serve(l) }()
	c := New(socket)
	t.Cleanup(func() {
		c.Close()
		server.Close()
		<-done
	})
	return c
}

func TestProblems(t *testing.T) {
	tests := []struct {
		name   string
		status int
		body   string
		want   string
		code   string
	}{
		{"problem", 409, `{"title":"Conflict","detail":"name w is taken","code":"name-taken"}`, "name w is taken", api.CodeNameTaken},
		{"no detail", 404, `{"title":"Not Found"}`, "Not Found", ""},
		{"no problem", 502, "<html>\nbad", "status 502: <html>", ""},
		{"nothing", 500, "", "status 500", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := serve(t, func(w http.ResponseWriter, r *http.Request) {
				w.WriteHeader(tt.status)
				io.WriteString(w, tt.body)
			})
			err := c.health(t.Context())
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "\n") {
				t.Fatalf("got %v, want one line with %q", err, tt.want)
			}
			if p, ok := errors.AsType[*api.Problem](err); ok && (p.Code != tt.code || p.Status != tt.status) {
				t.Errorf("got code %q and status %d, want %q and %d", p.Code, p.Status, tt.code, tt.status)
			}
		})
	}
}

// A creation that takes long is followed to its end, and what is asked again
// is the same workspace.
func TestCreateWorkspaceFollows(t *testing.T) {
	polls := 0
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		made := api.Workspace{ID: "w0000000000000001", Name: "n", State: workspace.StateCreating}
		switch {
		case r.Method == http.MethodPost && r.URL.Path == "/api/v1/workspaces":
			if r.Header.Get("Idempotency-Key") == "" {
				t.Error("a creation without an idempotency key")
			}
			w.WriteHeader(http.StatusAccepted)
			json.NewEncoder(w).Encode(api.Created{Workspace: made})
		case r.URL.Path == "/api/v1/workspaces/w0000000000000001" && r.URL.Query().Get("wait") != "":
			if polls++; polls == 2 {
				made.State, made.Sessions = workspace.StateReady, []api.Session{{ID: "s0000000000000001"}}
			}
			json.NewEncoder(w).Encode(made)
		default:
			t.Errorf("asked %s %s", r.Method, r.URL)
		}
	})
	seen := 0
	created, err := c.CreateWorkspace(t.Context(), api.NewWorkspace{Session: &api.NewSession{}}, func(api.Workspace) { seen++ })
	if err != nil || created.Session == nil || created.Session.ID != "s0000000000000001" || seen != 2 {
		t.Errorf("got %+v, %v after %d states", created, err, seen)
	}
}

func TestListsFollowCursors(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		page := api.Sessions{Sessions: []api.Session{{ID: "s000000000000000a"}}, Next: "x y"}
		if r.URL.Query().Get("cursor") == "x y" {
			page = api.Sessions{Sessions: []api.Session{{ID: "s000000000000000b"}}}
		}
		json.NewEncoder(w).Encode(page)
	})
	got, err := c.Sessions(t.Context())
	if err != nil || len(got) != 2 || got[1].ID != "s000000000000000b" {
		t.Errorf("got %v, %v, want a and b", got, err)
	}
}

// No server, and one that does not answer, are different things.
func TestConnect(t *testing.T) {
	home := testenv.ShortDir(t)
	dirs := config.Dirs{Data: filepath.Join(home, "d"), Runtime: filepath.Join(home, "r")}
	if err := dirs.Prepare(); err != nil {
		t.Fatal(err)
	}
	if _, err := Connect(t.Context(), dirs); !errors.Is(err, ErrNoServer) {
		t.Errorf("without serve.json: %v, want ErrNoServer", err)
	}
	write := func(text string) {
		if err := os.WriteFile(dirs.ServeFile(), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(`{"pid":1}`)
	if _, err := Connect(t.Context(), dirs); !errors.Is(err, ErrNoServer) {
		t.Errorf("with a socket that is gone: %v, want ErrNoServer", err)
	}
	write("{ not json")
	if _, err := Connect(t.Context(), dirs); !errors.Is(err, ErrNoServer) || !strings.Contains(err.Error(), dirs.ServeFile()) {
		t.Errorf("with a corrupt serve.json: %v, want ErrNoServer and its path", err)
	}
	write(`{"pid":1}`)
	l, err := net.Listen("unix", dirs.ServerSocket())
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := Connect(ctx, dirs); err == nil || errors.Is(err, ErrNoServer) {
		t.Errorf("with a server that does not answer: %v, want another error", err)
	}
}

// What cannot be a name is not found: the server is not asked, as the path would
// mean all logins, or lead elsewhere.
func TestNamesThatAreNoSegment(t *testing.T) {
	c := serve(t, func(_ http.ResponseWriter, r *http.Request) { t.Errorf("asked %s %s", r.Method, r.URL) })
	for _, name := range []string{"", ".", ".."} {
		_, rotate := c.RotateToken(t.Context(), name)
		for what, err := range map[string]error{
			"revoke login": c.RevokeLogin(t.Context(), name, false), "revoke token": c.RevokeToken(t.Context(), name), "rotate token": rotate,
		} {
			if p, ok := errors.AsType[*api.Problem](err); !ok || p.Code != api.CodeNotFound {
				t.Errorf("%s %q: %v", what, name, err)
			}
		}
	}
}

// A server that ends after it was connected to, and before it reads, is asked once more:
// by then it is gone.
func TestServerThatIsAboutToEnd(t *testing.T) {
	socket := filepath.Join(testenv.ShortDir(t), "s")
	c := over(func(context.Context, string, string) (net.Conn, error) {
		l, err := net.Listen("unix", socket)
		if err != nil {
			return nil, err
		}
		conn, err := net.Dial("unix", socket)
		if err != nil {
			return nil, err
		}
		served, err := l.Accept()
		if err != nil {
			return nil, err
		}
		return conn, errors.Join(served.Close(), l.Close())
	})
	defer c.Close()
	for range 300 { // which of several errors it is depends on who is first
		if err := c.health(t.Context()); err == nil || !wasEnding(err) {
			t.Fatalf("%v is not known as the error of a server that has ended", err)
		}
	}
}
