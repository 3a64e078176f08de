package model

import (
	"context"
	"fmt"
	"time"

	"middleman/internal/contain"
	"middleman/internal/plaintext"
)

// UndoTime limits the cleanup after a failed creation.
const UndoTime = 30 * time.Second

// Unwind calls all functions of undo, last first, even if ctx has ended. It
// adds their errors to cause.
func Unwind(ctx context.Context, undo []func(context.Context) error, cause error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), UndoTime)
	defer cancel()
	for i := len(undo) - 1; i >= 0; i-- {
		if err := undo[i](ctx); err != nil {
			cause = fmt.Errorf("%w (and to undo it: %w)", cause, err)
		}
	}
	return cause
}

// Containing turns a panic of the function that defers it into an error that
// names the workspace.
func Containing(name string, err *error) {
	if value := recover(); value != nil {
		*err = fmt.Errorf("workspace %s: %w", plaintext.Quoted(name), contain.Caught(value))
	}
}
