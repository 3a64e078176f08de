// Package contain recovers panics: a panic becomes an error of the request,
// workspace or session that it happened in, and the process goes on.
//
// A goroutine has nobody above it to recover for it, so whatever serves one of
// those in a goroutine of its own, or of os/exec's, begins with Call.
package contain

import (
	"fmt"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"

	"middleman/internal/plaintext"
)

// PanicError is a panic that was contained.
type PanicError struct {
	Value any    // what was panicked with
	At    string // file and line, the innermost that is not the runtime's
	Stack []byte // of the goroutine, for the log
}

// Error is one line, for the log and for who asked.
func (e *PanicError) Error() string {
	return fmt.Sprintf("a fault in middleman itself, at %s: %s; nothing more was done, please report it", e.At, plaintext.Quoted(fmt.Sprint(e.Value)))
}

// Call calls f, and returns a panic of it as an *PanicError.
func Call(f func() error) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = Caught(value)
		}
	}()
	return f()
}

// Caught is the panic whose value a deferred function has just recovered.
func Caught(value any) *PanicError {
	return &PanicError{Value: value, At: panickedAt(), Stack: debug.Stack()}
}

// panickedAt is the innermost place outside the runtime that led to the panic.
func panickedAt() string {
	callers := make([]uintptr, 64)
	frames := runtime.CallersFrames(callers[:runtime.Callers(2, callers)])
	for panicked := false; ; {
		frame, more := frames.Next()
		if panicked && !strings.HasPrefix(frame.Function, "runtime.") || !more {
			return fmt.Sprintf("%s:%d", filepath.Join(filepath.Base(filepath.Dir(frame.File)), filepath.Base(frame.File)), frame.Line)
		}
		panicked = panicked || frame.Function == "runtime.gopanic"
	}
}
