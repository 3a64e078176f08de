// Package life tells whether anything runs in the sandbox of a session, whoever started
// it and whatever has ended since.
//
// Under bubblewrap all processes of a sandbox are in one pid namespace. The kernel ends
// them with the first process there, which is one of bwrap. That process keeps a lock in
// the session's state directory, and nothing else can have that once the program runs:
// a free lock proves that it has ended. bwrap itself writes its process id, which is
// true as long as the lock is held.
//
// The package signals nothing.
package life

import (
	"path/filepath"
	"time"

	"middleman/internal/private"
)

// lockFile is in a session's state directory, which the program cannot reach.
const lockFile = "sandbox.lock"

// Held reports whether something of the sandbox of the session with that state directory
// lives. It does not if the session has none, or one that was not made by bubblewrap.
func Held(dir string) (bool, error) { return private.IsHeld(filepath.Join(dir, lockFile)) }

// A sandbox ends a moment after its last program: lingers is the longest.
const (
	lingers = 100 * time.Millisecond
	pause   = 2 * time.Millisecond // no event tells that a lock is free
)

// Outlives is Held, but waits for a sandbox that is about to end. It blocks for 100 ms at
// most.
func Outlives(dir string) (held bool, err error) {
	for deadline := time.Now().Add(lingers); ; time.Sleep(pause) {
		if held, err = Held(dir); !held || err != nil || time.Now().After(deadline) {
			return held, err
		}
	}
}
