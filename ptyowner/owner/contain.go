package owner

import (
	"fmt"
	"os"
	"runtime/debug"
	"time"

	"middleman/internal/fault"
	"middleman/ptyowner/state"
)

// contained runs one side of a connection. A panic there closes only this
// connection, not the session: loop works on data of this viewer, and releases
// the owner's lock as it unwinds. If that lock stays held, the owner itself
// panics, rather than hang for every client. A panic elsewhere, in the loops
// that read, draw or reap, is never contained.
func (v *viewer) contained(what string, loop func()) {
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		logf("a connection's %s panicked and was closed: %q\n%s", what, fmt.Sprint(p), debug.Stack())
		if !v.owner.isFree(lockTime) {
			panic(p)
		}
		v.conn.Close()
	}()
	if err := fault.Error("viewer/panic"); err != nil {
		panic(err)
	}
	loop()
}

// lockTime is longer than any goroutine holds the owner's lock.
const lockTime = 5 * time.Second

// isFree reports whether the owner's lock can be taken within that time.
func (o *owner) isFree(within time.Duration) bool {
	for deadline := time.Now().Add(within); !o.mu.TryLock(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			return false
		}
	}
	o.mu.Unlock()
	return true
}

// logf writes a line to the owner's log, which is its standard error. It is for
// errors that no client can be told.
func logf(format string, args ...any) {
	state.Note(os.Stderr, format, args...)
}
