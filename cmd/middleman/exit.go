package main

import (
	"context"
	"errors"
	"fmt"

	"middleman/cmd/middleman/internal/viewer"
	"middleman/terminal"
)

// The exit codes of the command line. attach, run and wait --exit return the
// program's own beside these.
const (
	exitOK           = 0
	exitError        = 1
	exitUsage        = 2
	exitTimeout      = 124
	exitInterrupted  = 130
	exitDisconnected = 254
	exitNotAttached  = 255
)

// usageError: the command line itself is wrong.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error {
	return &usageError{fmt.Errorf(format, args...)}
}

// programExit ends middleman as the session's program ended. It is no error
// of ours, and nothing is printed for it.
type programExit struct{ exit terminal.Exit }

func (e *programExit) Error() string {
	return fmt.Sprintf("the program exited with %d", e.exit.Status())
}

// notAttachedError: the session could not be attached at all.
type notAttachedError struct{ err error }

func (e *notAttachedError) Error() string { return e.err.Error() }
func (e *notAttachedError) Unwrap() error { return e.err }

// errTimeout: what was waited for did not come in time.
var errTimeout = errors.New("timed out")

// exitCode chooses the exit code for what a command returned; nowhere else is
// one chosen.
func exitCode(err error) int {
	if err == nil {
		return exitOK
	}
	if e, ok := errors.AsType[*programExit](err); ok {
		return e.exit.Status()
	}
	if _, ok := errors.AsType[*usageError](err); ok {
		return exitUsage
	}
	if _, ok := errors.AsType[*notAttachedError](err); ok {
		return exitNotAttached
	}
	switch {
	case errors.Is(err, errTimeout):
		return exitTimeout
	case errors.Is(err, context.Canceled):
		return exitInterrupted
	case errors.Is(err, viewer.ErrDisconnected):
		return exitDisconnected
	}
	return exitError
}
