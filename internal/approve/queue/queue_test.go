package queue

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"middleman/internal/approve"
	"middleman/internal/store"
	_ "middleman/internal/testenv" // sets the umask
	"middleman/terminal"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t *testing.T) (*Queue, chan store.Approval) {
	s, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "data", "middleman.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	changes := make(chan store.Approval, 10_000)
	return &Queue{Store: s, Changed: func(a store.Approval, _ *store.Approval) { changes <- a }}, changes
}

func request(n int) store.Approval {
	r := approve.Request{Tool: "Bash", Arguments: fmt.Sprintf(`{"command":"make %d"}`, n), Directory: "/"}
	return New(terminal.NewID("a"), store.Session{ID: "s1"}, "w/s", "claude", r)
}

func toAsk() approve.Verdict {
	return approve.Verdict{Decision: approve.Ask, Rule: "unknown-command", Reason: "why"}
}

// Requests are the same whatever the order of their members; numbers, strings and what is
// no object are not changed.
func TestSameRequest(t *testing.T) {
	digest := func(arguments string) string {
		return string(New("a", store.Session{}, "", "claude", approve.Request{Tool: "Edit", Arguments: arguments, Directory: "/"}).Digest)
	}
	one := digest(`{"file_path":"/etc/x","edits":[{"a":1,"b":2}]}`)
	if digest(`{ "edits": [{"b":2,"a":1}], "file_path": "/etc/x"}`) != one {
		t.Error("the order of members counts")
	}
	seen := map[string]string{one: "one"}
	for _, other := range []string{
		`{"file_path":"/etc/x","edits":[{"a":2,"b":1}]}`, `{"file_path":"/etc/x","edits":[{"a":1.0,"b":2}]}`, `{"file_path":"/etc/x","edits":[{"a":"1","b":2}]}`,
		`{"n":9007199254740993}`, `{"n":9007199254740992}`, `{"n":1} {"n":2}`, `{"n":1}`, `[1]`, `[1 ]`, `{`, ``,
	} {
		if was := seen[digest(other)]; was != "" {
			t.Errorf("%s is the same as %s", other, was)
		}
		seen[digest(other)] = other
	}
}

// An agent that goes on without an answer waits for none: what its turn asked is closed,
// but not what a subagent asks, nor what it asks later.
func TestGoneOn(t *testing.T) {
	q, changes := open(t)
	var hooks sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	ask := func(n int, aside bool) store.Approval {
		a := request(n)
		hooks.Go(func() {
			if got, err := q.Ask(ctx, a, aside, toAsk); !errors.Is(err, context.Canceled) && (err != nil || got.Reason != WentOn) {
				t.Errorf("request %d: %+v, %v", n, got, err)
			}
		})
		for (<-changes).ID != a.ID {
		}
		return a
	}
	first, second, nested := ask(1, false), ask(2, false), ask(3, true)
	rest := func(want ...store.Approval) {
		t.Helper()
		var got, ids []string
		for _, a := range listed(q, first.SessionID) {
			got = append(got, a.ID)
		}
		for _, a := range want {
			ids = append(ids, a.ID)
		}
		if !slices.Equal(got, ids) {
			t.Errorf("%q wait, want %q", got, ids)
		}
	}
	over := func(summary string, at time.Time) {
		t.Helper()
		if err := q.GoneOn(t.Context(), first.SessionID, summary, at); err != nil {
			t.Error(err)
		}
	}
	over(first.Summary, first.CreatedAt)
	rest(first, second, nested)
	over("Bash: something else", time.Now())
	rest(first, second, nested)
	over(first.Summary, time.Now())
	rest(second, nested)
	over("", time.Now())
	rest(nested)
	cancel()
	hooks.Wait()
	rest()
}

// listed returns what waits of a session.
func listed(q *Queue, session string) []store.Approval {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.of(session)
}

// However answers, hooks that ask again and hooks that end meet, a request has one
// decision: that of the one answer that succeeded, and no hook gets another.
func TestOneAnswerCounts(t *testing.T) {
	q, changes := open(t)
	for n := range 40 {
		a := request(n)
		ends, cancel := context.WithCancel(t.Context())
		var mu sync.Mutex // guards the next two
		var got, won []string
		var hooks, others sync.WaitGroup
		hook := func(ctx context.Context) {
			hooks.Go(func() {
				decided, err := q.Ask(ctx, a, false, toAsk)
				if err != nil && !errors.Is(err, context.Canceled) {
					t.Errorf("ask: %v", err)
				}
				mu.Lock()
				defer mu.Unlock()
				if err == nil && decided.Decision != store.Undecided {
					got = append(got, decided.Decision)
				}
			})
		}
		hook(ends)
		if waits := <-changes; waits.ID != a.ID || waits.Decision != "" {
			t.Fatalf("%+v", waits)
		}
		hook(t.Context()) // the same hook, whose first call is not known to be lost
		for _, decision := range []string{store.Allowed, store.Denied, store.Allowed, store.Denied} {
			others.Go(func() {
				_, err := q.Answer(t.Context(), a.ID, decision, "", decision)
				if _, late := errors.AsType[*AnsweredError](err); err != nil && !late {
					t.Errorf("answer: %v", err)
				}
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					won = append(won, decision)
				}
			})
		}
		others.Go(cancel)
		others.Wait()
		finished := make(chan struct{})
		go func() { hooks.Wait(); close(finished) }()
		for waiting := true; waiting; {
			select {
			case <-finished:
				waiting = false
			case c := <-changes: // the second call may wait again after the first has ended
				if c.Decision != "" {
					continue
				}
				if _, err := q.Answer(t.Context(), a.ID, store.Denied, "", store.Denied); err == nil {
					won = append(won, store.Denied)
				}
			}
		}
		cancel()
		record, err := q.Store.Approval(t.Context(), a.ID)
		if err != nil || len(won) > 1 || len(won) == 1 && (record.Decision != won[0] || record.DecidedBy != won[0]) || len(won) == 0 && record.Decision != store.Undecided {
			t.Fatalf("won %v, recorded %+v, %v", won, record, err)
		}
		for _, decision := range got {
			if decision != record.Decision {
				t.Errorf("a hook got %s, recorded is %s", decision, record.Decision)
			}
		}
		for len(changes) > 0 {
			<-changes
		}
	}
	if len(q.waiting) > 0 {
		t.Errorf("%d wait still", len(q.waiting))
	}
}

// A session that asks without end does not fill the list.
func TestWaitingIsBounded(t *testing.T) {
	q, changes := open(t)
	ctx, cancel := context.WithCancel(t.Context())
	var hooks sync.WaitGroup
	for n := range maxWaiting {
		hooks.Go(func() { _, _ = q.Ask(ctx, request(n), false, toAsk) })
		<-changes
	}
	if _, err := q.Ask(ctx, request(-1), false, toAsk); !errors.Is(err, ErrNotShown) {
		t.Errorf("one more: %v", err)
	}
	other := request(-2)
	other.SessionID = "s2"
	hooks.Go(func() { _, _ = q.Ask(ctx, other, false, toAsk) })
	if a := <-changes; a.SessionID != "s2" {
		t.Errorf("%+v", a)
	}
	cancel()
	hooks.Wait()
	list, _, err := q.Store.Approvals(t.Context(), store.ApprovalQuery{}, store.Page{Limit: -1})
	if err != nil || len(list) > 0 {
		t.Errorf("%d wait still, %v", len(list), err)
	}
}

// An error of the store allows nothing.
func TestErrorsAllowNothing(t *testing.T) {
	q, _ := open(t)
	a := request(1)
	q.Store.Close()
	got, err := q.Ask(t.Context(), a, false, func() approve.Verdict { return approve.Verdict{Decision: approve.Allow} })
	if err == nil || got.Decision == store.Allowed {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := q.Answer(t.Context(), a.ID, store.Allowed, "", "x"); err == nil {
		t.Error("an answer without a store")
	}
}

// Who follows the queue is told which other request of the same session still waits.
func TestOthersAreTold(t *testing.T) {
	q, changes := open(t)
	var told []string
	q.Changed = func(a store.Approval, other *store.Approval) {
		text := a.Arguments
		if other != nil {
			text += " and " + other.Arguments
		}
		told = append(told, text)
		changes <- a
	}
	var hooks sync.WaitGroup
	asks := func(a store.Approval) store.Approval {
		hooks.Go(func() { _, _ = q.Ask(t.Context(), a, false, toAsk) })
		return <-changes
	}
	one, two := asks(request(1)), asks(request(2))
	elsewhere := request(3)
	elsewhere.SessionID = "s2"
	asks(elsewhere)
	for _, id := range []string{one.ID, two.ID, elsewhere.ID} {
		if _, err := q.Answer(t.Context(), id, store.Allowed, "", "me"); err != nil {
			t.Error(err)
		}
	}
	hooks.Wait()
	want := []string{
		`{"command":"make 1"}`, `{"command":"make 2"} and {"command":"make 1"}`, `{"command":"make 3"}`,
		`{"command":"make 1"} and {"command":"make 2"}`, `{"command":"make 2"}`, `{"command":"make 3"}`,
	}
	if !slices.Equal(told, want) {
		t.Errorf("%q\nwant %q", told, want)
	}
}

// A hook that asks again, after the server was gone, is asked about with the reason
// that holds now.
func TestAskedAgainSaysWhy(t *testing.T) {
	q, changes := open(t)
	a := request(1)
	ctx, cancel := context.WithCancel(t.Context())
	var hooks sync.WaitGroup
	hooks.Go(func() { _, _ = q.Ask(ctx, a, false, toAsk) })
	<-changes
	cancel()
	hooks.Wait()
	<-changes
	hooks.Go(func() {
		_, _ = q.Ask(t.Context(), a, false, func() approve.Verdict { return approve.Verdict{Decision: approve.Ask, Rule: "outside", Reason: "now"} })
	})
	if again := <-changes; again.Decision != "" || again.Rule != "outside" || again.Reason != "now" {
		t.Errorf("%+v", again)
	}
	if err := q.End(t.Context(), a.SessionID); err != nil {
		t.Error(err)
	}
	hooks.Wait()
}

// cutContext ends when it is asked for the nth time whether it has.
type cutContext struct {
	context.Context
	cut  context.CancelFunc
	left atomic.Int32
}

func (c *cutContext) Done() <-chan struct{} {
	if c.left.Add(-1) == 0 {
		c.cut()
	}
	return c.Context.Done()
}

// Wherever a hook's call is cut off, its request waits no more.
func TestCutAnywhere(t *testing.T) {
	q, _ := open(t)
	for n := int32(1); ; n++ {
		ctx, cut := context.WithCancel(t.Context())
		c := &cutContext{Context: ctx, cut: cut}
		c.left.Store(n)
		q.Changed = func(store.Approval, *store.Approval) { cut() }
		if _, err := q.Ask(c, request(int(n)), false, toAsk); !errors.Is(err, context.Canceled) {
			t.Fatalf("cut at %d: %v", n, err)
		}
		cut()
		list, _, err := q.Store.Approvals(t.Context(), store.ApprovalQuery{}, store.Page{Limit: -1})
		if err != nil || len(list) > 0 || len(q.waiting) > 0 {
			t.Fatalf("cut at %d: %d wait still in the store, %d in the queue, %v", n, len(list), len(q.waiting), err)
		}
		if c.left.Load() > 0 { // it was asked less often
			return
		}
	}
}

// What waited when the server ended waits on for the next one. It may be denied at once,
// and is allowed when its hook has asked again, so that it is judged by what holds then.
// What no hook asks for again is closed.
func TestTheNextServer(t *testing.T) {
	for _, killed := range []bool{false, true} {
		old, changes := open(t)
		ctx, cancel := context.WithCancel(t.Context())
		var hooks sync.WaitGroup
		list := []store.Approval{request(1), request(2), request(3), request(4)}
		for _, a := range list {
			hooks.Go(func() { _, _ = old.Ask(ctx, a, false, toAsk) })
			<-changes
		}
		if !killed {
			old.Leave()
			cancel()
			hooks.Wait()
		}
		q := &Queue{Store: old.Store, Changed: func(a store.Approval, _ *store.Approval) { changes <- a }}
		if err := q.Recover(t.Context()); err != nil {
			t.Fatal(err)
		}
		if len(changes) > 0 || q.Oldest("s1") == nil || q.Oldest("s1").ID != list[0].ID {
			t.Errorf("killed %v: %d changes, the oldest is %+v", killed, len(changes), q.Oldest("s1"))
		}

		if a, err := q.Answer(t.Context(), list[1].ID, store.Denied, "", "me"); err != nil || a.Decision != store.Denied {
			t.Errorf("denied before its hook is back: %+v, %v", a, err)
		}
		if a, err := q.Ask(t.Context(), list[1], false, toAsk); err != nil || a.Decision != store.Denied {
			t.Errorf("its hook: %+v, %v", a, err)
		}

		gone, stop := context.WithCancel(t.Context())
		stop()
		if _, err := q.Answer(gone, list[0].ID, store.Allowed, "", "me"); !errors.Is(err, context.Canceled) {
			t.Errorf("allowed before its hook is back: %v", err)
		}
		answered := make(chan error)
		go func() {
			_, err := q.Answer(t.Context(), list[0].ID, store.Allowed, "", "me")
			answered <- err
		}()
		changed := func() approve.Verdict { return approve.Verdict{Decision: approve.Ask, Rule: "other", Reason: "else"} }
		hooks.Go(func() {
			if a, err := q.Ask(t.Context(), list[0], false, changed); err != nil || a.Decision != store.Allowed {
				t.Errorf("%+v, %v", a, err)
			}
		})
		if err := <-answered; !errors.As(err, new(*ChangedError)) {
			t.Errorf("allowed what means something else now: %v", err)
		}
		if _, err := q.Answer(t.Context(), list[0].ID, store.Allowed, "", "me"); err != nil {
			t.Error(err)
		}

		q.mu.Lock()
		asked := q.waiting[list[2].ID].asked
		q.mu.Unlock()
		hooks.Go(func() { _, _ = q.Ask(t.Context(), list[2], false, toAsk) })
		<-asked
		if err := q.closeUnasked(t.Context()); err != nil {
			t.Error(err)
		}
		if a, err := q.Store.Approval(t.Context(), list[3].ID); err != nil || a.Decision != store.Undecided {
			t.Errorf("nobody asked again: %+v, %v", a, err)
		}
		if a := q.Oldest("s1"); a == nil || a.ID != list[2].ID {
			t.Errorf("what was asked again: %+v", a)
		}
		_, err := q.Answer(t.Context(), list[2].ID, store.Denied, "", "me")
		if err != nil {
			t.Error(err)
		}
		cancel()
		hooks.Wait()
	}
}
