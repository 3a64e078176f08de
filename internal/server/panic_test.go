//go:build linux || darwin

package server_test

import (
	"bytes"
	"context"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"middleman/internal/api"
	"middleman/internal/server"
	"middleman/terminal"
	"middleman/workspace"
)

// brittle panics where a method is asked about a workspace of that name.
type brittle struct {
	*workspace.Manager
	name string
	mu   sync.Mutex // guards what
	what map[string]bool
}

func newBrittle(p *place, name string, what ...string) *brittle {
	b := &brittle{Manager: workspace.New(workspace.Options{Base: p.dirs.Workspaces()}), name: name}
	b.breaks(what...)
	return b
}

func (b *brittle) breaks(what ...string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.what = map[string]bool{}
	for _, w := range what {
		b.what[w] = true
	}
}

func (b *brittle) at(what, name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.what[what] && name == b.name {
		var none []int
		_ = none[len(name)] // a real one
	}
}

func (b *brittle) Begin(ctx context.Context, r workspace.CreateRequest, p workspace.Progress) (workspace.Workspace, error) {
	b.at("begin", r.Name)
	return b.Manager.Begin(ctx, r, p)
}

func (b *brittle) Checkout(ctx context.Context, r workspace.CreateRequest, w workspace.Workspace, p workspace.Progress) (workspace.Workspace, error) {
	b.at("checkout", w.Name)
	return b.Manager.Checkout(ctx, r, w, p)
}

func (b *brittle) DeleteInspected(ctx context.Context, w workspace.Workspace, discard bool, p workspace.Progress) (workspace.Loss, error) {
	b.at("delete", w.Name)
	return b.Manager.DeleteInspected(ctx, w, discard, p)
}

func (b *brittle) Restore(ctx context.Context, w workspace.Workspace, p workspace.Progress) (workspace.Workspace, []string, error) {
	b.at("restore", w.Name)
	return b.Manager.Restore(ctx, w, p)
}

func (b *brittle) PutBack(w workspace.Workspace) (bool, error) {
	b.at("put back", w.Name)
	return b.Manager.PutBack(w)
}

func (b *brittle) Status(ctx context.Context, w workspace.Workspace) (workspace.Status, error) {
	b.at("status", w.Name)
	return b.Manager.Status(ctx, w)
}

func (b *brittle) Mark(w workspace.Workspace, upstream string) string {
	b.at("mark", w.Name)
	return b.Manager.Mark(w, upstream)
}

func (b *brittle) Compare(ctx context.Context, w workspace.Workspace, r workspace.DiffRequest) (*workspace.Comparison, error) {
	b.at("compare", w.Name)
	return b.Manager.Compare(ctx, w, r)
}

// panicLog counts what is logged of contained panics.
type panicLog struct {
	testLog
	mu   sync.Mutex // guards text
	text bytes.Buffer
}

func (l *panicLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text.Write(p)
	return l.testLog.Write(p)
}

func (l *panicLog) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), "brittle).at(") // in a stack
}

// A panic costs the request, the workspace or the session that it is about.
func TestPanicIsContained(t *testing.T) {
	p := newPlace(t)
	b, log := newBrittle(p, "bad"), &panicLog{testLog: testLog{t}}
	r := p.serve(t, func(o *server.Options) { o.Workspaces, o.Log = b, slog.New(slog.NewTextHandler(log, nil)) })
	good := r.workspace("good", nil)
	create := func() answer {
		return r.call("POST", "/workspaces", api.NewWorkspace{Name: "bad", Directory: p.repository})
	}
	refused := func(what string, a answer) {
		t.Helper()
		if a.status != 500 || a.problem(t).Code != api.CodeInternal {
			t.Errorf("%s: %d %s", what, a.status, a.body)
		}
	}

	b.breaks("begin")
	refused("begin", create())
	b.breaks("checkout")
	create()
	list := get[api.Workspaces](r, "GET", "/workspaces", nil).Workspaces
	if len(list) != 2 {
		t.Fatalf("%d workspaces", len(list))
	}
	bad := get[api.Workspace](r, "GET", "/workspaces/"+list[1].ID+"?wait=60s", nil)
	if bad.State != workspace.StateFailed || bad.Error == "" {
		t.Errorf("after a panic in its checkout it is %s: %q", bad.State, bad.Error)
	}
	b.breaks()
	get[api.Created](r, "POST", "/workspaces/"+bad.ID+"/retry", nil)
	if bad = get[api.Workspace](r, "GET", "/workspaces/"+bad.ID+"?wait=60s", nil); bad.State != workspace.StateReady {
		t.Fatalf("after a retry it is %s: %s", bad.State, bad.Error)
	}

	b.breaks("status")
	for _, w := range get[api.Workspaces](r, "GET", "/workspaces?status=1&fresh=1", nil).Workspaces {
		if known := w.Status != nil && len(w.Status.Unknown) == 0; known != (w.ID == good.ID) {
			t.Errorf("status of %s: %+v", w.Name, w.Status)
		}
	}
	b.breaks("mark")
	get[api.Workspaces](r, "GET", "/workspaces?status=1", nil)
	b.breaks("compare")
	before := log.count()
	refused("compare", r.call("GET", "/workspaces/"+bad.ID+"/diff", nil))
	if n := log.count() - before; n != 1 {
		t.Errorf("the panic was logged %d times", n)
	}

	b.breaks("delete")
	refused("delete", r.call("DELETE", "/workspaces/"+bad.ID, nil))
	if w := get[api.Workspace](r, "GET", "/workspaces/"+bad.ID, nil); w.State != workspace.StateReady {
		t.Errorf("after a panic in its delete it is %s", w.State)
	}
	b.breaks("restore")
	write(t, filepath.Join(bad.Root, "work"), "work\n") // or nothing would be kept
	get[api.Deleted](r, "DELETE", "/workspaces/"+bad.ID+"?discard_work=1", nil)
	refused("restore", r.call("POST", "/workspaces/"+bad.ID+"/restore", nil))
	b.breaks()
	get[api.Restored](r, "POST", "/workspaces/"+bad.ID+"/restore", nil)
}

// A start gets past a workspace that it cannot bring further.
func TestStartGetsPastPanics(t *testing.T) {
	for state, breaks := range map[workspace.State]string{
		workspace.StateCreating: "checkout", workspace.StateDeleting: "put back", workspace.StateRestoring: "restore",
	} {
		t.Run(string(state), func(t *testing.T) {
			p := newPlace(t)
			r := p.serve(t)
			good, bad := r.workspace("good", nil), r.workspace("bad", nil)
			if err := r.store.SetWorkspaceState(t.Context(), bad.ID, state, ""); err != nil {
				t.Fatal(err)
			}
			r.stop()
			r = p.serve(t, func(o *server.Options) { o.Workspaces = newBrittle(p, "bad", breaks) })
			r.session(good, "true")
			for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
				a := r.call("GET", "/workspaces/"+bad.ID, nil)
				// A restore that fails leaves a deleted workspace; as this one's
				// directory is there, it is then adopted.
				over := strings.Contains(string(a.body), `"state":"failed"`)
				if state == workspace.StateRestoring {
					over = a.status == 404 || strings.Contains(string(a.body), `"state":"ready"`)
				}
				if over {
					break
				}
				if time.Now().After(end) {
					t.Fatalf("%d %s", a.status, a.body)
				}
			}
		})
	}
}

// brittleBackend has sessions of which the first few questions panic.
type brittleBackend struct {
	terminal.Backend
	mu   sync.Mutex // guards left
	left int
}

type brittleSession struct {
	terminal.Session
	b *brittleBackend
}

func (b *brittleBackend) Session(id string) terminal.Session {
	return &brittleSession{b.Backend.Session(id), b}
}

func (s *brittleSession) Status(ctx context.Context) (terminal.Status, error) {
	s.b.mu.Lock()
	s.b.left--
	left := s.b.left
	s.b.mu.Unlock()
	if left >= 0 {
		panic("brittle")
	}
	return s.Session.Status(ctx)
}

// A session whose backend panics is asked again, and its exit is still seen.
func TestPanicOfABackendIsContained(t *testing.T) {
	p := newPlace(t)
	r := p.serve(t)
	s := r.session(r.workspace("w", nil), "sh", "-c", "read line")
	r.stop()
	b := &brittleBackend{Backend: p.backend, left: 3}
	r = p.serve(t, func(o *server.Options) { o.Backends = []terminal.Backend{b} })
	get[api.Sessions](r, "GET", "/sessions", nil)
	if a := r.call("POST", "/sessions/"+s.ID+"/input", []byte("\r")); a.status != 204 {
		t.Fatalf("input: %d %s", a.status, a.body)
	}
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		row, err := r.store.Session(t.Context(), s.ID)
		if err != nil {
			t.Fatal(err)
		}
		if row.State == terminal.StateExited {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("it is %s", row.State)
		}
	}
}
