package workspace

import (
	"errors"
	"fmt"

	"middleman/internal/contain"
)

// PanicError is a fault of ours in one operation on one workspace. The others
// go on.
type PanicError struct {
	Value any    // what was panicked with
	At    string // file and line
	Stack []byte // for a log
}

// Error is one line.
func (e *PanicError) Error() string {
	return fmt.Sprintf("a fault in middleman itself, at %s: %s; nothing more was done, please report it", e.At, printable(fmt.Sprint(e.Value)))
}

// containing makes a panic of what it is deferred in an error that names the
// workspace.
func containing(name string, err *error) {
	if value := recover(); value != nil {
		caught := PanicError(*contain.Caught(value))
		*err = fmt.Errorf("workspace %s: %w", printable(name), &caught)
	}
}

// contained runs do, and makes a panic of it an error.
func contained(do func() error) error {
	err := contain.Call(do)
	if e, ok := errors.AsType[*contain.PanicError](err); ok {
		caught := PanicError(*e)
		return &caught
	}
	return err
}
