// Package queue keeps the requests of agents that wait for the user's decision,
// and records each decision, with the rule or the person that made it. A request
// waits as long as its hook does: the hook's own call waits in Ask. Each is
// answered once, by whoever is first.
package queue

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"middleman/internal/approve"
	"middleman/internal/store"
)

const (
	// ByRule is who decided, if nobody was asked.
	ByRule = "rule"
	// maxShown bounds the bytes of arguments that a person is asked about: all of
	// it must be seen.
	maxShown = 64 << 10
	// maxKept bounds the bytes that are recorded of what a rule decided.
	maxKept = 4 << 10
	// maxWaiting bounds the requests of one session that wait.
	maxWaiting = 50
	// returnTime is how long a hook may take to ask the next server.
	returnTime = 10 * time.Second
)

// Errors of Ask.
var (
	// ErrNotShown: the user cannot be asked here, so the agent must ask by itself.
	ErrNotShown = errors.New("the agent's own dialog must ask")
	// ErrOther: there is another request with that id.
	ErrOther = errors.New("there is another request with this id")
)

// AnsweredError is the error of an answer to a request that waits no more.
type AnsweredError struct{ Approval store.Approval }

func (e *AnsweredError) Error() string {
	a := e.Approval
	if a.Decision == store.Undecided {
		return fmt.Sprintf("request %s waits no more: %s", a.ID, a.Reason)
	}
	said := map[string]string{store.Allowed: "allowed", store.Denied: "denied"}[a.Decision]
	return fmt.Sprintf("request %s was %s already, by %s at %s", a.ID, said, a.DecidedBy, a.DecidedAt.Local().Format(time.DateTime))
}

// ChangedError is the error of an answer that allows a request which means something
// else by now, such as another file behind a link. It waits on.
type ChangedError struct{ Approval store.Approval }

func (e *ChangedError) Error() string {
	a := e.Approval
	return fmt.Sprintf("request %s means something else now, so it waits for another answer: %s: %s", a.ID, a.Rule, a.Reason)
}

// Queue keeps the requests of one server. Its methods are safe for concurrent use.
type Queue struct {
	Store *store.Store
	// Changed is called with each request that begins to wait, means something else,
	// or waits no more, and with the oldest other one of its session that waits, nil
	// for none.
	Changed func(a store.Approval, other *store.Approval)
	// mu is held while a decision is recorded, and guards waiting.
	mu      sync.Mutex
	waiting map[string]*waiting
	leaving bool // see Leave
}

// waiting is a request that waits.
type waiting struct {
	hooks   int                    // how many calls of Ask wait for it
	aside   bool                   // a subagent asks: see GoneOn
	verdict func() approve.Verdict // what the rules say now, nil until asked is closed
	asked   chan struct{}          // closed when its hook has asked this server
	answer  store.Approval         // without a decision until done is closed
	done    chan struct{}
}

// Recover makes wait what the previous server left waiting: a hook that lives still asks
// again. Call it before any other method, and then Settle.
func (q *Queue) Recover(ctx context.Context) error {
	list, _, err := q.Store.Approvals(ctx, store.ApprovalQuery{}, store.Page{Limit: -1})
	if err != nil {
		return err
	}
	q.waiting = map[string]*waiting{}
	for _, a := range list {
		q.waiting[a.ID] = &waiting{asked: make(chan struct{}), answer: a, done: make(chan struct{})}
	}
	return nil
}

// Settle gives the hooks of what Recover has found a while to ask again, and closes the
// requests of those that have not. It blocks until then, or until ctx ends.
func (q *Queue) Settle(ctx context.Context) error {
	late := time.NewTimer(returnTime)
	defer late.Stop()
	select {
	case <-late.C:
		return q.closeUnasked(ctx)
	case <-ctx.Done():
		return nil
	}
}

// closeUnasked closes what Recover has found and no hook has asked for since.
func (q *Queue) closeUnasked(ctx context.Context) (failed error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for id, w := range q.waiting {
		if w.verdict == nil {
			_, err := q.settle(ctx, id, store.Undecided, "the server ended while it waited, and its hook did not ask again", "")
			failed = errors.Join(failed, err)
		}
	}
	return failed
}

// Leave is called before the calls of Ask are cut off because the server ends: what they
// wait for waits on, for the next server.
func (q *Queue) Leave() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.leaving = true
}

// New returns the record of a request, without a decision.
func New(id string, session store.Session, label, agent string, r approve.Request) store.Approval {
	sum := sha256.Sum256([]byte(r.Tool + "\x00" + r.Directory + "\x00" + plainForm(r.Arguments)))
	return store.Approval{
		ID: id, SessionID: session.ID, WorkspaceID: session.WorkspaceID, Session: label, Agent: agent, Tool: r.Tool,
		Summary: approve.Summary(r), Arguments: r.Arguments, Diff: approve.Diff(r), Digest: sum[:], CreatedAt: time.Now().UTC(),
	}
}

// plainForm returns a JSON object with its members sorted, so that one with the same
// members is the same, and other text as it is.
func plainForm(arguments string) string {
	var members map[string]any
	d := json.NewDecoder(strings.NewReader(arguments))
	d.UseNumber()
	if err := d.Decode(&members); err != nil || d.More() {
		return arguments
	}
	text, err := json.Marshal(members)
	if err != nil {
		return arguments
	}
	return string(text)
}

// Ask returns a with a decision. aside says that a subagent asks. Ask decides by verdict or, if that is to ask, waits
// for Answer. If ctx ends first, the request waits no more and the error is that
// of ctx. A hook whose call was cut off asks again with the same id: it gets the
// decision that was made meanwhile, or waits again.
func (q *Queue) Ask(ctx context.Context, a store.Approval, aside bool, verdict func() approve.Verdict) (store.Approval, error) {
	known, err := q.Store.Approval(ctx, a.ID)
	switch {
	case errors.Is(err, store.ErrNotFound):
	case err != nil:
		return a, err
	case known.SessionID != a.SessionID || string(known.Digest) != string(a.Digest):
		return a, ErrOther
	case known.Decision == store.Allowed || known.Decision == store.Denied:
		return known, nil
	case !shown(a): // only the beginning of it is recorded
		return known, ErrNotShown
	default:
		return q.again(ctx, known, aside, verdict)
	}
	v, err := q.decide(ctx, a, verdict)
	if err != nil {
		return a, err
	}
	a.Rule, a.Reason = v.Rule, v.Reason
	switch v.Decision {
	case approve.Allow, approve.Deny:
		a.Decision, a.DecidedBy, a.DecidedAt = string(v.Decision), ByRule, time.Now().UTC()
		a.Arguments, a.Diff = cut(a.Arguments), cut(a.Diff)
		return a, q.Store.AddApproval(ctx, a)
	}
	if !shown(a) {
		a.Decision, a.Reason, a.DecidedAt = store.Undecided, "it is left to the agent's own dialog", time.Now().UTC()
		a.Arguments, a.Diff = cut(a.Arguments), cut(a.Diff)
		return a, errors.Join(q.Store.AddApproval(ctx, a), ErrNotShown)
	}
	w, err := q.enter(ctx, a, aside, verdict, func(ctx context.Context) error { return q.Store.AddApproval(ctx, a) })
	if err != nil {
		return a, err
	}
	return q.wait(ctx, a.ID, w)
}

// shown reports whether a person can be asked about a.
func shown(a store.Approval) bool {
	return len(a.Arguments) <= maxShown && !approve.OwnDialog(a.Tool)
}

// decide returns the verdict on a new request. What a person denied to a session
// stays denied to it.
func (q *Queue) decide(ctx context.Context, a store.Approval, verdict func() approve.Verdict) (approve.Verdict, error) {
	before, err := q.Store.DeniedBefore(ctx, a.SessionID, a.Digest, ByRule)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return verdict(), nil
	case err != nil:
		return approve.Verdict{}, err
	}
	return approve.Verdict{Decision: approve.Deny, Rule: "denied-before", Reason: fmt.Sprintf("%s denied the same at %s", before.DecidedBy, before.DecidedAt.Local().Format(time.DateTime))}, nil
}

// again waits for a request that waits, or did until its hook or the server ended.
func (q *Queue) again(ctx context.Context, known store.Approval, aside bool, verdict func() approve.Verdict) (store.Approval, error) {
	v := verdict()
	if v.Decision != approve.Ask {
		v = approve.Verdict{Rule: known.Rule, Reason: "its hook asks again"}
	}
	w, err := q.enter(ctx, known, aside, verdict, func(ctx context.Context) error {
		err := q.Store.ReopenApproval(ctx, known.ID, v.Rule, v.Reason)
		if errors.Is(err, store.ErrNotFound) {
			return nil // it was decided a moment ago, or waits still
		}
		return err
	})
	if err != nil {
		return known, err
	}
	return q.wait(ctx, known.ID, w)
}

// enter makes the caller wait for a request, which write stores. It goes on if ctx
// ends: a request that is stored, and that nobody waits for, would be listed for
// ever. wait closes it.
func (q *Queue) enter(ctx context.Context, a store.Approval, aside bool, verdict func() approve.Verdict, write func(context.Context) error) (*waiting, error) {
	ctx = context.WithoutCancel(ctx)
	q.mu.Lock()
	defer q.mu.Unlock()
	if w := q.waiting[a.ID]; w != nil {
		w.hooks++
		if w.verdict == nil {
			close(w.asked)
		}
		w.verdict, w.aside = verdict, aside
		return w, nil
	}
	if n := len(q.of(a.SessionID)); n >= maxWaiting {
		return nil, fmt.Errorf("%d requests of the session wait already: %w", n, ErrNotShown)
	}
	if s, err := q.Store.Session(ctx, a.SessionID); err == nil && s.State.Ended() { // it has ended meanwhile: see End
		return nil, fmt.Errorf("session %s has ended: %w", a.SessionID, ErrNotShown)
	}
	if err := write(ctx); err != nil {
		return nil, err
	}
	now, err := q.Store.Approval(ctx, a.ID)
	if err != nil {
		return nil, err
	}
	w := &waiting{hooks: 1, aside: aside, verdict: verdict, asked: make(chan struct{}), answer: now, done: make(chan struct{})}
	close(w.asked)
	if now.Decision != "" {
		close(w.done)
		return w, nil
	}
	if q.waiting == nil {
		q.waiting = map[string]*waiting{}
	}
	q.waiting[a.ID] = w
	q.tell(now)
	return w, nil
}

// of returns the requests of a session that wait, oldest first. The caller holds mu.
func (q *Queue) of(session string) (list []store.Approval) {
	for _, w := range q.waiting {
		if w.answer.SessionID == session {
			list = append(list, w.answer)
		}
	}
	slices.SortFunc(list, func(a, b store.Approval) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
	return list
}

// tell calls Changed. The caller holds mu.
func (q *Queue) tell(a store.Approval) {
	others := slices.DeleteFunc(q.of(a.SessionID), func(o store.Approval) bool { return o.ID == a.ID })
	if len(others) > 0 {
		q.Changed(a, &others[0])
		return
	}
	q.Changed(a, nil)
}

// Oldest returns the oldest request of a session that waits, nil for none.
func (q *Queue) Oldest(session string) *store.Approval {
	q.mu.Lock()
	defer q.mu.Unlock()
	if list := q.of(session); len(list) > 0 {
		return &list[0]
	}
	return nil
}

// WentOn is the reason of requests that GoneOn has closed.
const WentOn = "the agent went on without an answer"

// GoneOn closes requests of a session that began before at, because its agent did
// something after at that it would not have done while it waits. If it ran what summary
// says, those of that summary are closed; with "" the turn is over, and all are but those
// of subagents. A request whose hook has not asked this server again is left to that.
func (q *Queue) GoneOn(ctx context.Context, session, summary string, at time.Time) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	var failed error
	for _, a := range q.of(session) {
		w := q.waiting[a.ID]
		over := summary == "" && !w.aside || summary != "" && summary == a.Summary
		if w.verdict == nil || !over || !a.CreatedAt.Before(at) {
			continue
		}
		_, err := q.settle(ctx, a.ID, store.Undecided, WentOn, "")
		failed = errors.Join(failed, err)
	}
	return failed
}

// End closes what a session waits for, which has ended. Its hooks may outlive it,
// but nobody is asked for them. Record the end of the session before: what asks
// later is refused.
func (q *Queue) End(ctx context.Context, session string) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	var failed error
	for _, a := range q.of(session) {
		_, err := q.settle(ctx, a.ID, store.Undecided, "its session has ended", "")
		failed = errors.Join(failed, err)
	}
	return failed
}

// wait returns the answer. If ctx ends first and no other call waits for the
// request, it waits no more, unless the server ends.
func (q *Queue) wait(ctx context.Context, id string, w *waiting) (store.Approval, error) {
	select {
	case <-w.done:
		return w.answer, nil
	case <-ctx.Done():
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if w.hooks--; w.hooks > 0 || q.waiting[id] != w || q.leaving {
		return store.Approval{}, ctx.Err()
	}
	_, err := q.settle(context.WithoutCancel(ctx), id, store.Undecided, "its hook waits no more", "")
	return store.Approval{}, errors.Join(ctx.Err(), err)
}

// Answer records what a person decided on a request that waits, and lets its hook
// go on. reason may be "". The error is an *AnsweredError if the request waits no
// more, and store.ErrNotFound if there is none. It is a *ChangedError if what the
// person allows is not what they were asked about. If its hook has not yet asked again
// after a restart of the server, Answer waits for that before it allows.
func (q *Queue) Answer(ctx context.Context, id, decision, reason, by string) (store.Approval, error) {
	q.mu.Lock()
	w := q.waiting[id]
	q.mu.Unlock()
	var now approve.Verdict
	if w != nil && decision == store.Allowed {
		var err error
		if now, err = q.judge(ctx, w); err != nil {
			return store.Approval{}, err
		}
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case w == nil || decision != store.Allowed || q.waiting[id] != w || now.Decision == approve.Allow:
	case now.Decision == approve.Deny:
		a, err := q.settle(ctx, id, store.Denied, now.Reason, ByRule)
		if err == nil {
			err = &AnsweredError{a}
		}
		return a, err
	case now.Rule != w.answer.Rule || now.Reason != w.answer.Reason:
		if err := q.Store.ExplainApproval(ctx, id, now.Rule, now.Reason); err != nil {
			return w.answer, err
		}
		w.answer.Rule, w.answer.Reason = now.Rule, now.Reason
		q.tell(w.answer)
		return w.answer, &ChangedError{w.answer}
	}
	return q.settle(ctx, id, decision, reason, by)
}

// judge returns what the rules say now of a request, nothing if it waits no more.
func (q *Queue) judge(ctx context.Context, w *waiting) (v approve.Verdict, err error) {
	select {
	case <-w.asked:
	case <-w.done:
		return v, nil
	case <-ctx.Done():
		return v, ctx.Err()
	}
	q.mu.Lock()
	verdict := w.verdict
	q.mu.Unlock()
	return verdict(), nil // it may run git: not while others wait for mu
}

// settle records a decision, and then tells of it. The caller holds mu.
func (q *Queue) settle(ctx context.Context, id, decision, reason, by string) (store.Approval, error) {
	err := q.Store.DecideApproval(ctx, id, decision, reason, by, time.Now())
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return store.Approval{}, err
	}
	a, readErr := q.Store.Approval(ctx, id)
	if readErr != nil {
		return store.Approval{}, readErr
	}
	if err != nil {
		return store.Approval{}, &AnsweredError{a}
	}
	if w := q.waiting[id]; w != nil {
		delete(q.waiting, id)
		w.answer = a
		close(w.done)
	}
	q.tell(a)
	return a, nil
}

// cut returns the beginning of a text.
func cut(text string) string {
	if len(text) <= maxKept {
		return text
	}
	for n := maxKept; ; n-- {
		if text[n]&0xc0 != 0x80 { // the first byte of a character
			return text[:n] + "…"
		}
	}
}
