package workspace

import (
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
)

// PanicError is a fault of ours in one operation on one workspace. The others
// go on.
type PanicError struct {
	Value any    // what was panicked with
	At    string // file and line
}

// Error is one line.
func (e *PanicError) Error() string {
	return fmt.Sprintf("a fault in middleman itself, at %s: %s; nothing more was done, please report it", e.At, printable(fmt.Sprint(e.Value)))
}

// contain makes a panic of what it is deferred in an error that names the
// workspace.
func contain(name string, err *error) {
	if value := recover(); value != nil {
		*err = fmt.Errorf("workspace %s: %w", printable(name), &PanicError{Value: value, At: panickedAt()})
	}
}

// contained runs do, and makes a panic of it an error.
func contained(do func() error) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = &PanicError{Value: value, At: panickedAt()}
		}
	}()
	return do()
}

// panickedAt is the innermost place of ours that led to a panic.
func panickedAt() string {
	callers := make([]uintptr, 32)
	frames := runtime.CallersFrames(callers[:runtime.Callers(3, callers)])
	for {
		frame, more := frames.Next()
		if !strings.HasPrefix(frame.Function, "runtime.") || !more {
			return fmt.Sprintf("%s:%d", filepath.Join(filepath.Base(filepath.Dir(frame.File)), filepath.Base(frame.File)), frame.Line)
		}
	}
}
