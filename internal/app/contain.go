package app

import (
	"context"
	"errors"
	"fmt"

	"middleman/internal/contain"
	"middleman/workspace"
)

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
