// Package lease is the proof that a program uses an ephemeral workspace: a
// lock on a file that is named by the workspace's id. Who starts the program
// takes it and lets the program inherit it, so that it is held until both, and
// all that the program has started, have ended or let go of it. A lock that can
// be taken is the proof that they have; a file that is missing proves nothing
// by itself, so who deletes takes the lock too.
package lease

import "errors"

// ErrHeld: somebody holds the lease, so the workspace is in use.
var ErrHeld = errors.New("it is in use")
