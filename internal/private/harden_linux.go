package private

import (
	"fmt"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// hidden is whether other processes of this user are kept from looking into
// this one.
var hidden struct {
	mu      sync.Mutex // guards all below
	on      bool
	exposed int // who needs it seen
}

// hide keeps other processes of this user from reading this one's memory,
// environment and descriptors, and from tracing it, as long as it runs this
// image: to the kernel they are root's (PR_SET_DUMPABLE of prctl(2)).
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

// Expose lets another process of this user run an executable that is named by
// way of this process, until done is called. For any other path, and where
// nothing is hidden, it does nothing.
func Expose(executable string) (done func()) {
	if !strings.HasPrefix(executable, "/proc/") {
		return func() {}
	}
	change := func(by int) {
		hidden.mu.Lock()
		defer hidden.mu.Unlock()
		hidden.exposed += by
		if hidden.on {
			_ = setDumpable(hidden.exposed > 0) // both values are valid
		}
	}
	change(1)
	return func() { change(-1) }
}
