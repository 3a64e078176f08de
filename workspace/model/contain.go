package model

import (
	"context"
	"fmt"
	"time"

	"middleman/internal/contain"
	"middleman/internal/plaintext"
)

// UndoTime bounds the way back from a creation that failed.
const UndoTime = 30 * time.Second

// Unwind undoes all that can be undone, last first, also where ctx has ended.
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

// Containing makes a panic of what it is deferred in an error that names the
// workspace.
func Containing(name string, err *error) {
	if value := recover(); value != nil {
		*err = fmt.Errorf("workspace %s: %w", plaintext.Quoted(name), contain.Caught(value))
	}
}
