//go:build linux || darwin

package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"middleman/internal/api"
	"middleman/internal/audit"
	"middleman/internal/server"
	"middleman/terminal"
)

// asks is a hook's call that waits for a decision.
type asks struct {
	r    *running
	id   string
	end  context.CancelFunc
	over chan struct{} // closed once the answer or the error has come
	got  answer
	err  error
}

// asking is what a hook asks.
func asking(tool, arguments, dir string) api.NewApproval {
	return api.NewApproval{ID: terminal.NewID("a"), Agent: "claude", Tool: tool, Arguments: arguments, Directory: dir}
}

// hook sends what a hook asks, and does not wait for the answer.
func (r *running) hook(session string, in api.NewApproval) *asks {
	ctx, cancel := context.WithCancel(r.t.Context())
	h := &asks{r: r, id: in.ID, end: cancel, over: make(chan struct{})}
	req := r.request("POST", "http://localhost/api/v1/sessions/"+session+"/approvals", in, r.own(session)...).WithContext(ctx)
	go func() {
		defer close(h.over)
		resp, err := r.socket.Do(req)
		if err != nil {
			h.err = err
			return
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		h.got, h.err = answer{resp.StatusCode, resp.Header, body}, err
	}()
	r.t.Cleanup(func() { cancel(); <-h.over })
	return h
}

// decided waits for the answer.
func (h *asks) decided() (a api.Approval) {
	h.r.t.Helper()
	<-h.over
	if err := json.Unmarshal(h.got.body, &a); err != nil || h.got.status != 200 {
		h.r.t.Fatalf("the hook got %s", h)
	}
	return a
}

// String says what the hook got, once its call is over.
func (h *asks) String() string {
	return fmt.Sprintf("status %d, error %v: %s", h.got.status, h.err, h.got.body)
}

// waits waits until the requests of the given hooks are those that wait. A hook
// whose call is over before fails the test at once.
func (r *running) waits(hooks ...*asks) (list []api.Approval) {
	r.t.Helper()
	var want []string
	for _, h := range hooks {
		want = append(want, h.id)
	}
	for deadline := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		list = get[api.Approvals](r, "GET", "/approvals", nil).Approvals
		var got []string
		for _, a := range list {
			got = append(got, a.ID)
		}
		if slices.Equal(got, want) {
			return list
		}
		for _, h := range hooks {
			select {
			case <-h.over:
				r.t.Fatalf("request %s does not wait: its hook got %s", h.id, h)
			default:
			}
		}
		if time.Now().After(deadline) {
			all := get[api.Approvals](r, "GET", "/approvals?all=1", nil).Approvals
			r.t.Fatalf("%v wait, not %v, after %s; all: %+v\n%s", got, want, patience, all, stacks())
		}
	}
}

// stacks says what each goroutine does.
func stacks() []byte {
	all := make([]byte, 1<<20)
	return all[:runtime.Stack(all, true)]
}

func (r *running) recorded(id string) api.Approval {
	r.t.Helper()
	return get[api.Approval](r, "GET", "/approvals/"+id, nil)
}

func TestApprovals(t *testing.T) { eachBackend(t, approvals) }

func approvals(t *testing.T, p *place) {
	dir := t.TempDir()
	log := audit.New(dir, func(err error) { t.Error(err) })
	r := p.serve(t, func(o *server.Options) { o.Audit = log })
	w := r.workspace("w", &api.NewSession{Command: []string{"cat"}})
	s := w.Sessions[0]
	events := r.events(t, "", "")

	// By rule, at once.
	for _, x := range []struct{ tool, arguments, state, rule string }{
		{"Write", `{"file_path":"new.txt","content":"x"}`, "allowed", "worktree"},
		{"Bash", `{"command":"git status"}`, "allowed", "git"},
		{"Read", `{"file_path":"` + p.dirs.Database() + `"}`, "denied", "middleman"},
	} {
		in := asking(x.tool, x.arguments, w.Path)
		a := r.hook(s.ID, in).decided()
		if a.State != x.state || a.Rule != x.rule || a.DecidedBy != "rule" || a.DecidedAt == nil || a.Session != "w/cat" {
			t.Errorf("%s %s: %+v", x.tool, x.arguments, a)
		}
		if got := r.recorded(in.ID); got.State != x.state || got.Rule != x.rule {
			t.Errorf("recorded: %+v", got)
		}
	}

	// The user is asked; of two answers at once one counts.
	in := asking("Edit", `{"file_path":"/etc/motd","old_string":"a","new_string":"b"}`, w.Path)
	h := r.hook(s.ID, in)
	a := r.waits(h)[0]
	if a.State != "waiting" || a.Rule != "outside" || a.Summary != "Edit: /etc/motd" || !strings.Contains(a.Diff, "-a\n+b\n") || a.DecidedAt != nil {
		t.Errorf("%+v", a)
	}
	events.until(func(e api.Event) bool {
		return e.Approval != nil && e.Approval.ID == in.ID && e.Approval.State == "waiting"
	})
	var answers [2]answer
	var both sync.WaitGroup
	for i, decision := range []string{"allow", "deny"} {
		both.Go(func() {
			answers[i] = r.call("POST", "/approvals/"+in.ID, api.ApprovalAnswer{Decision: decision, Reason: "no"})
		})
	}
	both.Wait()
	first, second := 0, 1
	if answers[0].status != 200 {
		first, second = 1, 0
	}
	state := []string{"allowed", "denied"}[first]
	if refused := answers[second].problem(t); answers[first].status != 200 || refused.Status != 409 || refused.Code != api.CodeAnswered || !strings.Contains(refused.Detail, state+" already, by command line") {
		t.Errorf("%d %s, %+v", answers[first].status, answers[first].body, refused)
	}
	if got := h.decided(); got.State != state || got.DecidedBy != "command line" {
		t.Errorf("the hook got %+v", got)
	}
	events.until(func(e api.Event) bool {
		return e.Approval != nil && e.Approval.ID == in.ID && e.Approval.State == state
	})

	// What was denied stays denied.
	in = asking("Bash", `{"command":"make"}`, w.Path)
	h = r.hook(s.ID, in)
	r.waits(h)
	if a := r.call("POST", "/approvals/"+in.ID, api.ApprovalAnswer{Decision: "deny", Reason: "use go test"}); a.status != 200 {
		t.Fatalf("deny: %d %s", a.status, a.body)
	}
	if got := h.decided(); got.State != "denied" || got.Reason != "use go test" {
		t.Errorf("%+v", got)
	}
	if got := r.hook(s.ID, asking("Bash", `{"command":"make"}`, w.Path)).decided(); got.State != "denied" || got.Rule != "denied-before" || got.DecidedBy != "rule" {
		t.Errorf("%+v", got)
	}

	// A hook that ends waits no more, and cannot be answered.
	in = asking("Bash", `{"command":"make all"}`, w.Path)
	h = r.hook(s.ID, in)
	r.waits(h)
	h.end()
	r.waits()
	refused := r.call("POST", "/approvals/"+in.ID, api.ApprovalAnswer{Decision: "allow"}).problem(t)
	if refused.Code != api.CodeAnswered || !strings.Contains(refused.Detail, "waits no more") || r.recorded(in.ID).State != "closed" {
		t.Errorf("%+v", refused)
	}
	list := get[api.Approvals](r, "GET", "/sessions/"+s.ID+"/approvals?all=1", nil).Approvals
	if len(list) != 7 {
		t.Errorf("%d recorded: %+v", len(list), list)
	}
	r.stop()
	written, _, err := audit.Read(dir, time.Time{})
	decisions := 0
	for _, rec := range written {
		if rec.Event == audit.Approval {
			decisions++
		}
	}
	if err != nil || decisions < 2 {
		t.Errorf("the audit log has %d decisions: %+v, %v", decisions, written, err)
	}
}

// A server that ends while a hook waits decides nothing. The hook asks the next
// server with the same id, and gets what is decided there, once.
func TestApprovalOutlivesTheServer(t *testing.T) {
	t.Parallel() // it waits most of the time
	p := newPlace(t)
	r := p.serve(t)
	w := r.workspace("w", &api.NewSession{Command: []string{"cat"}})
	s := w.Sessions[0]
	in, lost := asking("Bash", `{"command":"make"}`, w.Path), asking("Bash", `{"command":"make lost"}`, w.Path)
	h, gone := r.hook(s.ID, in), r.hook(s.ID, lost)
	r.until("both wait", func() bool { return len(get[api.Approvals](r, "GET", "/approvals", nil).Approvals) == 2 })
	r.stop()
	<-h.over
	<-gone.over
	if h.got.status == 200 {
		t.Errorf("the end of the server answered: %s", h.got.body)
	}
	r = p.serve(t)
	r.waits()
	if got := r.recorded(lost.ID); got.State != "closed" || got.DecidedBy != "" {
		t.Errorf("%+v", got)
	}
	h = r.hook(s.ID, in)
	r.waits(h)
	if a := r.call("POST", "/approvals/"+in.ID, api.ApprovalAnswer{Decision: "allow"}); a.status != 200 {
		t.Fatalf("%d %s", a.status, a.body)
	}
	if got := h.decided(); got.State != "allowed" {
		t.Errorf("%+v", got)
	}
	if got := r.hook(s.ID, in).decided(); got.State != "allowed" { // its answer was lost on the way
		t.Errorf("%+v", got)
	}
	other := in
	other.Arguments = `{"command":"rm -rf /"}`
	if a := r.call("POST", "/sessions/"+s.ID+"/approvals", other, r.own(s.ID)...); a.problem(t).Code != api.CodeKeyReused {
		t.Errorf("another request with the id of one that was allowed: %d %s", a.status, a.body)
	}
}

// What cannot be asked here, or is no request at all, is refused: the hook then
// answers nothing.
func TestApprovalsThatAreRefused(t *testing.T) {
	r := newPlace(t).serve(t)
	w := r.workspace("w", &api.NewSession{Command: []string{"cat"}})
	s := w.Sessions[0]
	long := `{"command":"make ` + strings.Repeat("a", 100<<10) + `"}`
	for _, x := range []struct {
		name   string
		change func(*api.NewApproval)
		status int
	}{
		{"no id", func(a *api.NewApproval) { a.ID = "" }, 422},
		{"an id that is a path", func(a *api.NewApproval) { a.ID = "../../x" }, 422},
		{"an agent that cannot grant", func(a *api.NewApproval) { a.Agent = "gemini" }, 422},
		{"no agent", func(a *api.NewApproval) { a.Agent = "" }, 422},
		{"no tool", func(a *api.NewApproval) { a.Tool = "" }, 422},
		{"a tool that a terminal acts on", func(a *api.NewApproval) { a.Tool = "x\x1b[2J" }, 422},
		{"a relative directory", func(a *api.NewApproval) { a.Directory = "x" }, 422},
		{"broken JSON", func(a *api.NewApproval) { a.Arguments = `{"command":` }, 422},
		{"a list", func(a *api.NewApproval) { a.Arguments = `[]` }, 422},
		{"1 MB", func(a *api.NewApproval) { a.Arguments = `{"command":"` + strings.Repeat("a", 1<<20) + `"}` }, 413},
		{"half a MB", func(a *api.NewApproval) { a.Arguments = `{"command":"` + strings.Repeat("a", 1<<19) + `"}` }, 422},
		{"more than a person reads", func(a *api.NewApproval) { a.Arguments = long }, 409},
		{"a question of the agent's own", func(a *api.NewApproval) { a.Tool = "AskUserQuestion" }, 409},
	} {
		in := asking("Bash", `{"command":"make"}`, w.Path)
		x.change(&in)
		for range 2 { // the second time it is known by its id
			if a := r.call("POST", "/sessions/"+s.ID+"/approvals", in, r.own(s.ID)...); a.status != x.status {
				t.Errorf("%s: %d %.200s", x.name, a.status, a.body)
			}
		}
	}
	for _, x := range []struct {
		name, id, decision string
		status             int
	}{{"an unknown one", "a0000000000000000", "allow", 404}, {"another word", "a0000000000000000", "maybe", 422}, {"no word", "a0000000000000000", "", 422}} {
		if a := r.call("POST", "/approvals/"+x.id, api.ApprovalAnswer{Decision: x.decision}); a.status != x.status {
			t.Errorf("answer %s: %d %s", x.name, a.status, a.body)
		}
	}
	r.waits()
	// A write in the worktree may be long.
	in := asking("Write", `{"file_path":"x","content":"`+strings.Repeat("a", 100<<10)+`"}`, w.Path)
	if got := r.hook(s.ID, in).decided(); got.State != "allowed" || len(got.Arguments) > 8<<10 {
		t.Errorf("%s with %d bytes", got.State, len(got.Arguments))
	}
	own := r.own(s.ID)
	r.call("DELETE", "/sessions/"+s.ID+"?grace=1ms", nil)
	in = asking("Bash", `{"command":"make"}`, w.Path) // short: nobody reads the body, and a long one may not be sent before the server hangs up
	if a := r.call("POST", "/sessions/"+s.ID+"/approvals", in, own...); a.status == 200 {
		t.Errorf("of a session that has ended: %d %s", a.status, a.body)
	}
}

// Git is allowed only as long as nothing in the repository makes it run a program.
func TestApprovalsOfGit(t *testing.T) {
	p := newPlace(t)
	r := p.serve(t)
	w := r.workspace("w", &api.NewSession{Command: []string{"cat"}})
	s := w.Sessions[0]
	git := func(args ...string) {
		t.Helper()
		if out, err := exec.Command("git", append([]string{"-C", p.repository}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	status := func() api.NewApproval { return asking("Bash", `{"command":"git commit -m x"}`, filepath.Join(w.Path)) }
	if got := r.hook(s.ID, status()).decided(); got.State != "allowed" || got.Rule != "git" {
		t.Errorf("%+v", got)
	}
	git("config", "core.fsmonitor", "./evil")
	in := status()
	if got := r.waits(r.hook(s.ID, in))[0]; got.Rule != "git-settings" {
		t.Errorf("%+v", got)
	}
}
