package private

import (
	"fmt"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// hidden tells whether this process is hidden from other processes of this user.
var hidden struct {
	mu      sync.Mutex // guards all below
	on      bool
	exposed int // calls of Expose whose done was not called yet
}

// hide keeps other processes of this user from reading this process's memory,
// environment and descriptors, and from tracing it, until its next execve(2). For
// the kernel, these belong to root then (PR_SET_DUMPABLE of prctl(2)).
func hide() error {
	hidden.mu.Lock()
	defer hidden.mu.Unlock()
	hidden.on = true
	return setDumpable(hidden.exposed > 0)
}

func setDumpable(on bool) error {
	value := uintptr(0)
	if on {
		value = 1
	}
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, value, 0, 0, 0); err != nil {
		return fmt.Errorf("hide this process from others: prctl: %w", err)
	}
	return nil
}

// Expose lets other processes of this user run an executable whose path leads
// through /proc/PID of this process, until done is called. For that, it undoes
// the hiding of Harden meanwhile. For any other path it does nothing.
func Expose(executable string) (done func()) {
	if !strings.HasPrefix(executable, "/proc/") {
		return func() {}
	}
	change := func(by int) {
		hidden.mu.Lock()
		defer hidden.mu.Unlock()
		hidden.exposed += by
		if hidden.on {
			_ = setDumpable(hidden.exposed > 0) // cannot fail: both values are valid
		}
	}
	change(1)
	return func() { change(-1) }
}
