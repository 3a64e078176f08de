package app

import (
	"context"
	"errors"
	"sync"
)

// ErrStopping refuses what is asked for while the server ends.
var ErrStopping = errors.New("the server is stopping")

// tasks are what outlives the request that asked for it. Each is joined by
// stop. With contain it is ready.
type tasks struct {
	// contain calls a function and survives its panic.
	contain func(what string, f func(), ended func(error))
	wg      sync.WaitGroup
	// mu guards the fields below, so that nothing is added once stop waits.
	mu      sync.Mutex
	stopped bool
	next    int
	cancels map[int]context.CancelFunc
}

// start runs f in a goroutine with the values of ctx but not its end, and
// reports whether it did: not after stop was called.
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

// run runs f here, without the end of ctx: a client that left does not leave
// half of it behind.
func (t *tasks) run(ctx context.Context, f func(context.Context) error) error {
	return t.within(context.WithoutCancel(ctx), f)
}

// within runs f here, until the end of ctx or of the server.
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

// stop takes no more tasks, lets the present ones go on until ctx ends,
// cancels them then, and returns when all have returned.
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
