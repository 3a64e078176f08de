package app

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"middleman/internal/api"
	"middleman/internal/contain"
	"middleman/workspace"
)

// ErrStopping is the error of a request that comes after App.Stop was called.
var ErrStopping = errors.New("the server is stopping")

// tasks runs functions that may outlive the request that started them. stop
// waits for all of them. A value with contain set is ready.
type tasks struct {
	// contain calls f and recovers a panic; then it calls ended, if not nil.
	contain func(what string, f func(), ended func(error))
	wg      sync.WaitGroup
	// mu guards the fields below, so that nothing is added once stop waits.
	mu      sync.Mutex
	stopped bool
	next    int
	cancels map[int]context.CancelFunc
}

// start runs f in a goroutine, with the values of ctx but without its
// cancellation. It reports false, and does nothing, after stop was called.
func (t *tasks) start(ctx context.Context, f func(context.Context)) bool {
	ctx, done, ok := t.enter(context.WithoutCancel(ctx))
	if ok {
		go func() {
			defer done()
			t.contain("background task", func() { f(ctx) }, nil)
		}()
	}
	return ok
}

// run calls f and waits for it, without the cancellation of ctx: so a client
// that disconnects does not leave half an operation behind.
func (t *tasks) run(ctx context.Context, f func(context.Context) error) error {
	return t.within(context.WithoutCancel(ctx), f)
}

// within calls f and waits for it. f's context ends with ctx, or when stop
// cancels it. After stop was called, within returns ErrStopping.
func (t *tasks) within(ctx context.Context, f func(context.Context) error) error {
	ctx, done, ok := t.enter(ctx)
	if !ok {
		return ErrStopping
	}
	defer done()
	return f(ctx)
}

func (t *tasks) enter(ctx context.Context) (_ context.Context, done func(), ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stopped {
		return nil, nil, false
	}
	ctx, cancel := context.WithCancel(ctx)
	if t.cancels == nil {
		t.cancels = map[int]context.CancelFunc{}
	}
	id := t.next
	t.next++
	t.cancels[id] = cancel
	t.wg.Add(1)
	return ctx, func() {
		cancel()
		t.mu.Lock()
		delete(t.cancels, id)
		t.mu.Unlock()
		t.wg.Done()
	}, true
}

// stop refuses new tasks and blocks until all present ones have returned. It
// cancels these when ctx ends.
func (t *tasks) stop(ctx context.Context) {
	t.mu.Lock()
	t.stopped = true
	t.mu.Unlock()
	release := context.AfterFunc(ctx, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		for _, cancel := range t.cancels {
			cancel()
		}
	})
	defer release()
	t.wg.Wait()
}

// gates block launches in a workspace while it is inspected and deleted. The
// zero value is ready.
type gates struct {
	// mu guards byWorkspace.
	mu          sync.Mutex
	byWorkspace map[string]*sync.RWMutex
}

func (g *gates) of(workspaceID string) *sync.RWMutex {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.byWorkspace == nil {
		g.byWorkspace = map[string]*sync.RWMutex{}
	}
	m := g.byWorkspace[workspaceID]
	if m == nil {
		m = &sync.RWMutex{}
		g.byWorkspace[workspaceID] = m
	}
	return m
}

// launch keeps block out of the workspace until leave is called, so that a
// session can be started in it. ok is false while block has the gate or waits.
func (g *gates) launch(workspaceID string) (leave func(), ok bool) {
	m := g.of(workspaceID)
	if !m.TryRLock() {
		return nil, false
	}
	return m.RUnlock, true
}

// block waits for launches in progress and refuses others until leave is called.
func (g *gates) block(workspaceID string) (leave func()) {
	m := g.of(workspaceID)
	m.Lock()
	return m.Unlock
}

// forget drops the gate of a deleted workspace.
func (g *gates) forget(workspaceID string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.byWorkspace, workspaceID)
}

// turns lets those who use the same id go one after the other. The zero value is
// ready.
type turns struct {
	// mu guards of and the counts in it.
	mu sync.Mutex
	of map[string]*turn
}

// turn is that of one id.
type turn struct {
	sync.Mutex
	takers int // who has it or waits for it
}

// take waits for the turn of an id, which is the caller's until leave is called.
func (t *turns) take(id string) (leave func()) {
	t.mu.Lock()
	if t.of == nil {
		t.of = map[string]*turn{}
	}
	mine := t.of[id]
	if mine == nil {
		mine = &turn{}
		t.of[id] = mine
	}
	mine.takers++
	t.mu.Unlock()
	mine.Lock()
	return func() {
		mine.Unlock()
		t.mu.Lock()
		defer t.mu.Unlock()
		if mine.takers--; mine.takers == 0 {
			delete(t.of, id)
		}
	}
}

// maxInputs bounds the inputs that wait for one session. Further inputs are refused.
const maxInputs = 16

// ErrTooManyInputs is the error of an input when maxInputs wait for the session.
var ErrTooManyInputs = errors.New("too many inputs wait")

// inputs lets one input at a time into each session, so that each input arrives
// whole and in order. A prompt is one input, from the look at the screen before its
// paste until the program has drawn what came of its submit key. The zero value is
// ready.
type inputs struct {
	// mu guards bySession.
	mu        sync.Mutex
	bySession map[string]*queued
}

// queued are the inputs of one session.
type queued struct {
	now     chan struct{} // capacity 1: full while an input is being typed
	waiting int           // inputs that wait or are being typed
}

// enter waits until no other input is being typed into the session, or until ctx
// ends. The turn lasts until leave is called. If too many inputs wait, enter
// refuses.
func (i *inputs) enter(ctx context.Context, session string) (leave func(), err error) {
	i.mu.Lock()
	t := i.bySession[session]
	if t == nil {
		t = &queued{now: make(chan struct{}, 1)}
	}
	if t.waiting >= maxInputs {
		i.mu.Unlock()
		return nil, &Refusal{Code: api.CodeBusy, Err: ErrTooManyInputs,
			Detail: fmt.Sprintf("%d inputs wait for the session already, because its program does not read", maxInputs)}
	}
	if i.bySession == nil {
		i.bySession = map[string]*queued{}
	}
	i.bySession[session] = t
	t.waiting++
	i.mu.Unlock()
	quit := func() {
		i.mu.Lock()
		defer i.mu.Unlock()
		if t.waiting--; t.waiting == 0 {
			delete(i.bySession, session)
		}
	}
	select {
	case t.now <- struct{}{}:
		return func() { <-t.now; quit() }, nil
	case <-ctx.Done():
		quit()
		return nil, context.Cause(ctx)
	}
}

// InputTurn waits until the caller may type an input into a session. No other input
// and no prompt is typed until leave is called.
func (s *App) InputTurn(ctx context.Context, id string) (leave func(), err error) {
	return s.inputs.enter(ctx, id)
}

// busy is a set of the ids of workspaces in which an operation runs. The zero
// value is ready.
type busy struct {
	// mu guards ids.
	mu  sync.Mutex
	ids map[string]bool
}

// enter adds a workspace until leave is called; ok is false if it is in the set.
func (b *busy) enter(id string) (leave func(), ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ids[id] {
		return nil, false
	}
	if b.ids == nil {
		b.ids = map[string]bool{}
	}
	b.ids[id] = true
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.ids, id)
	}, true
}

func (b *busy) has(id string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.ids[id]
}

// running has the setups and teardowns that run, by workspace id. The zero value
// is ready.
type running struct {
	mu   sync.Mutex // guards ends
	ends map[string]*ending
}

type ending struct {
	cancel context.CancelCauseFunc
	over   chan struct{}
}

// enter returns a context for the setup of a workspace; the method end cancels
// it. The caller calls leave when the setup is over.
func (r *running) enter(ctx context.Context, id string) (_ context.Context, leave func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	e := &ending{cancel, make(chan struct{})}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ends == nil {
		r.ends = map[string]*ending{}
	}
	r.ends[id] = e
	return ctx, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.ends[id] == e {
			delete(r.ends, id)
		}
		cancel(nil)
		close(e.over)
	}
}

// errSetupEnded is the cause when a delete cancels a setup.
var errSetupEnded = errors.New("it was ended, because the workspace is being deleted")

// end cancels the setup of a workspace and waits until it is over or ctx ends.
// It reports false if no setup runs.
func (r *running) end(ctx context.Context, id string) bool {
	r.mu.Lock()
	e := r.ends[id]
	r.mu.Unlock()
	if e == nil {
		return false
	}
	e.cancel(errSetupEnded)
	select {
	case <-e.over:
	case <-ctx.Done():
	}
	return true
}

func (r *running) has(id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ends[id] != nil
}

// endSetupTime bounds the wait for a creation whose setup was cancelled.
const endSetupTime = time.Minute

// endSetup cancels a setup that keeps a workspace from being deleted, and waits
// until that is no longer so.
func (s *App) endSetup(ctx context.Context, id string) error {
	if !s.setups.end(ctx, id) {
		return nil
	}
	if _, err := s.waitCreated(ctx, id, endSetupTime); err != nil {
		return err
	}
	tick := time.NewTicker(10 * time.Millisecond) // settingUp signals no change
	defer tick.Stop()
	for s.settingUp.has(id) {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// panicError is a recovered panic. It ends one request, or one task of a
// workspace, and nothing else.
type panicError struct {
	*contain.PanicError
	logged bool
}

// contained calls f. It returns f's error, or a panic in f as a *panicError.
func contained(f func() error) error {
	err := contain.Call(f)
	if e, ok := errors.AsType[*contain.PanicError](err); ok {
		return &panicError{PanicError: e}
	}
	return err
}

// Guarded calls f and returns its error. It recovers a panic in f, logs it with
// what, which names the operation, and returns it as an error.
func (s *App) Guarded(what string, f func() error) error {
	err := contained(f)
	if e, ok := err.(*panicError); ok {
		s.logPanic(what, e)
	}
	return err
}

// contain calls f. It recovers and logs a panic in f, and then calls ended with
// it, unless ended is nil.
func (s *App) contain(what string, f func(), ended func(error)) {
	err := s.Guarded(what, func() error { f(); return nil })
	if err != nil && ended != nil {
		s.contain(what+", after a panic", func() { ended(err) }, nil)
	}
}

// LogPanic logs a panic with its stack. value is what recover returned in the
// calling deferred function; what names the operation.
func (s *App) LogPanic(what string, value any) {
	s.logPanic(what, &panicError{PanicError: contain.Caught(value)})
}

func (s *App) logPanic(what string, e *panicError) {
	if e.logged {
		return
	}
	e.logged = true
	s.Log.Error("contained: "+what, "panic", fmt.Sprint(e.Value), "stack", string(e.Stack))
}

// containWorkspace calls f, which does one operation on w. If f panics, w becomes
// a failed workspace, so that no caller waits for it.
func (s *App) containWorkspace(ctx context.Context, w workspace.Workspace, f func()) {
	s.contain("workspace "+w.ID+", which is "+string(w.State), f, func(err error) {
		w.State, w.Error = workspace.StateFailed, InternalDetail
		s.setWorkspaceState(ctx, w)
	})
}

// further runs f, which does one operation on w, in the background. It reports
// false, without calling f, if the server is stopping.
func (s *App) further(ctx context.Context, w workspace.Workspace, f func(context.Context)) bool {
	return s.work.start(ctx, func(ctx context.Context) {
		s.containWorkspace(ctx, w, func() { f(ctx) })
	})
}
