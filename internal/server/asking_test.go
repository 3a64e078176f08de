//go:build linux || darwin

package server_test

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"middleman/internal/agent"
	"middleman/internal/api"
	"middleman/internal/server"
	"middleman/terminal"
)

// decides answers a request, and fails the test if that is refused.
func (r *running) decides(id, decision string) {
	r.t.Helper()
	if a := r.call("POST", "/approvals/"+id, api.ApprovalAnswer{Decision: decision}); a.status != 200 {
		r.t.Fatalf("%s: %d %s", decision, a.status, a.body)
	}
}

// An agent that uses several tools at once waits as long as one request does,
// whatever becomes of the others.
func TestAgentAsksForSeveralTools(t *testing.T) {
	r := newPlace(t).serve(t)
	w := r.workspace("w", nil)
	s := r.standsIn(w)
	r.becomes(s.ID, "unknown")
	first, second := asking("Bash", `{"command":"make one"}`, w.Path), asking("Bash", `{"command":"make two"}`, w.Path)
	one := r.hook(s.ID, first)
	r.waits(one)
	two := r.hook(s.ID, second)
	r.waits(one, two)
	r.becomes(s.ID, "waiting (permission)")

	r.decides(first.ID, "allow")
	one.decided()
	if got := r.agent(s.ID); got.State != agent.Waiting || got.Reason != "Bash: make two" {
		t.Errorf("one of two is allowed: %+v", got)
	}
	if a := r.reports(s.ID, r.own(s.ID), agent.Hook{Event: "PostToolUse", State: agent.Working}); a.status != 204 {
		t.Fatalf("%d %s", a.status, a.body)
	}
	if got := r.agent(s.ID); got.State != agent.Waiting || got.Reason != "Bash: make two" {
		t.Errorf("one of two has run: %+v", got)
	}
	r.decides(second.ID, "allow")
	two.decided()
	if got := r.agent(s.ID); got.State != agent.Working {
		t.Errorf("both are allowed: %+v", got)
	}
}

// Nobody is asked for a session that has ended, though its hook may live on.
func TestApprovalEndsWithItsSession(t *testing.T) {
	r := newPlace(t).serve(t)
	w := r.workspace("w", nil)
	s := r.standsIn(w)
	h := r.hook(s.ID, asking("Bash", `{"command":"make"}`, w.Path))
	r.waits(h)
	r.says(s.ID, "exit 0")
	if a := h.decided(); a.State != api.ApprovalClosed || a.Reason != "its session has ended" {
		t.Errorf("%+v", a)
	}
	r.waits()
	if a := r.call("POST", "/approvals/"+h.id, api.ApprovalAnswer{Decision: "allow"}).problem(t); a.Code != api.CodeAnswered {
		t.Errorf("an answer after the end: %+v", a)
	}
}

// What the user allows is what they were asked about: a request that means another
// file by now waits for another answer, and one for a file that is denied is denied.
func TestApprovalThatChanges(t *testing.T) {
	p := newPlace(t)
	r := p.serve(t)
	w := r.workspace("w", &api.NewSession{Command: []string{"cat"}})
	link := filepath.Join(w.Root, "link")
	leads := func(to string) {
		t.Helper()
		if err := os.Remove(link); err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		if err := os.Symlink(to, link); err != nil {
			t.Fatal(err)
		}
	}
	ask := func() *asks {
		t.Helper()
		leads("/etc/motd")
		h := r.hook(w.Sessions[0].ID, asking("Edit", `{"file_path":"link","old_string":"a","new_string":"b"}`, w.Root))
		if a := r.waits(h)[0]; !strings.Contains(a.Reason, "/etc/motd") {
			t.Fatalf("%+v", a)
		}
		return h
	}
	h := ask()
	leads("/etc/passwd")
	refused := r.call("POST", "/approvals/"+h.id, api.ApprovalAnswer{Decision: "allow"}).problem(t)
	if refused.Status != 409 || refused.Code != api.CodeRequestChanged || !strings.Contains(refused.Detail, "/etc/passwd is outside") {
		t.Errorf("%+v", refused)
	}
	if a := r.waits(h)[0]; !strings.Contains(a.Reason, "/etc/passwd") {
		t.Errorf("%+v", a)
	}
	r.decides(h.id, "allow") // the user has been told
	if a := h.decided(); a.State != api.ApprovalAllowed {
		t.Errorf("%+v", a)
	}

	h = ask()
	leads(p.dirs.Database())
	refused = r.call("POST", "/approvals/"+h.id, api.ApprovalAnswer{Decision: "allow"}).problem(t)
	if refused.Code != api.CodeAnswered || !strings.Contains(refused.Detail, "was denied already, by rule") {
		t.Errorf("%+v", refused)
	}
	if a := h.decided(); a.State != api.ApprovalDenied || a.DecidedBy != "rule" {
		t.Errorf("%+v", a)
	}

	h = ask()
	leads("/etc/passwd")
	r.decides(h.id, "deny") // that needs no second look
	h.decided()
}

// slowBackend has sessions that hold the question of a renaming.
type slowBackend struct {
	terminal.Backend
	asked, release chan struct{}
	once           sync.Once
}

type slowSession struct {
	terminal.Session
	b *slowBackend
}

func (b *slowBackend) Session(id string) terminal.Session {
	return &slowSession{b.Backend.Session(id), b}
}

func (s *slowSession) Status(ctx context.Context) (terminal.Status, error) {
	stack := make([]byte, 64<<10)
	if strings.Contains(string(stack[:runtime.Stack(stack, false)]), ".RenameSession(") {
		s.b.once.Do(func() {
			close(s.b.asked)
			<-s.b.release
		})
	}
	return s.Session.Status(ctx)
}

// Attach hides that an attachment can be asked too.
func (s *slowSession) Attach(ctx context.Context, o terminal.AttachOptions) (terminal.Attachment, error) {
	a, err := s.Session.Attach(ctx, o)
	if err != nil {
		return nil, err
	}
	return struct{ terminal.Attachment }{a}, nil
}

// The last event of a session is what it is: one that was made before another, and
// took longer, does not come after it.
func TestLastEventIsThePresent(t *testing.T) {
	p := newPlace(t)
	b := &slowBackend{Backend: p.backend, asked: make(chan struct{}), release: make(chan struct{})}
	r := p.serve(t, func(o *server.Options) { o.Backends = []terminal.Backend{b} })
	s := r.standsIn(r.workspace("w", nil))
	own := r.own(s.ID)
	r.reports(s.ID, own, agent.Hook{Event: "UserPromptSubmit", State: agent.Working})
	r.becomes(s.ID, "working")
	events := r.events(t, "", "")
	var both sync.WaitGroup
	both.Go(func() { r.call("POST", "/sessions/"+s.ID+"/rename", api.Rename{Name: "renamed"}) })
	<-b.asked
	reported := make(chan struct{})
	both.Go(func() {
		defer close(reported)
		r.reports(s.ID, own, agent.Hook{Event: "PermissionRequest", State: agent.Waiting, Kind: agent.Permission, Reason: "Bash: make"})
	})
	r.becomes(s.ID, "waiting (permission)")
	select { // it is told before the renaming, which would be wrong, or waits for that
	case <-reported:
	case <-time.After(300 * time.Millisecond):
	}
	close(b.release)
	both.Wait()
	end := r.workspace("end", nil)
	last := ""
	events.until(func(e api.Event) bool {
		if e.Session != nil && e.Session.ID == s.ID && e.Session.Agent != nil {
			last = e.Session.Agent.Text()
		}
		return e.Workspace != nil && e.Workspace.ID == end.ID
	})
	if last != "waiting (permission)" {
		t.Errorf("the last event says %q", last)
	}
}
