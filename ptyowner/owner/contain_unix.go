//go:build unix

package owner

import (
	"fmt"
	"os"
	"runtime/debug"
	"time"

	"middleman/internal/fault"
	"middleman/ptyowner/state"
)

// contained runs one side of a connection. A panic there costs this connection
// and not the session: what it works on is the viewer's alone, and the lock
// that it shares is released on the way. Where that does not hold, the owner
// ends, with its last words, rather than to stand still for everybody. A panic
// elsewhere, in what reads, draws or reaps, is never contained.
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

// lockTime is more than anybody holds the owner's lock for.
const lockTime = 5 * time.Second

// isFree reports whether the owner's lock can be had.
func (o *owner) isFree(within time.Duration) bool {
	for deadline := time.Now().Add(within); !o.mu.TryLock(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			return false
		}
	}
	o.mu.Unlock()
	return true
}

// logf notes something in the owner's log, which is its standard error. It is
// for what nobody can be told.
func logf(format string, args ...any) {
	state.Note(os.Stderr, format, args...)
}
