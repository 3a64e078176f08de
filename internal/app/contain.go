package app

import (
	"context"
	"errors"
	"fmt"

	"middleman/internal/contain"
	"middleman/workspace"
)

// panicError is a panic that was contained: one request, or one workspace's
// task, ends with it and nothing else does.
type panicError struct {
	*contain.PanicError
	logged bool
}

// contained calls f and returns its panic as an error.
func contained(f func() error) error {
	err := contain.Call(f)
	if e, ok := errors.AsType[*contain.PanicError](err); ok {
		return &panicError{PanicError: e}
	}
	return err
}

// Guarded is contained, with the panic logged.
func (s *App) Guarded(what string, f func() error) error {
	err := contained(f)
	if e, ok := err.(*panicError); ok {
		s.logPanic(what, e)
	}
	return err
}

// contain calls f. A panic of it is logged, and ended is called then unless it
// is nil.
func (s *App) contain(what string, f func(), ended func(error)) {
	err := s.Guarded(what, func() error { f(); return nil })
	if err != nil && ended != nil {
		s.contain(what+", after a panic", func() { ended(err) }, nil)
	}
}

// LogPanic logs a panic whose value a deferred function has just recovered.
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

// containWorkspace calls f, which brings one workspace further. A workspace
// whose turn panics has failed, so that nothing waits for it.
func (s *App) containWorkspace(ctx context.Context, w workspace.Workspace, f func()) {
	s.contain("workspace "+w.ID+", which is "+string(w.State), f, func(err error) {
		w.State, w.Error = workspace.StateFailed, InternalDetail
		s.setWorkspaceState(ctx, w)
	})
}

// further brings one workspace further in the background. It reports false
// where the server ends.
func (s *App) further(ctx context.Context, w workspace.Workspace, f func(context.Context)) bool {
	return s.work.start(ctx, func(ctx context.Context) {
		s.containWorkspace(ctx, w, func() { f(ctx) })
	})
}
