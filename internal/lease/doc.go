// Package lease proves whether a program uses an ephemeral workspace. A lease
// is a lock on a file that is named by the workspace's id. The process that
// starts the program takes the lock and lets the program inherit it. So it is
// held until both, and all that the program has started, have ended or closed
// it. If the lock can be taken, they have. A missing file alone proves nothing,
// so a deleter takes the lock too.
package lease

import "errors"

// ErrHeld: another process holds the lease, so the workspace is in use.
var ErrHeld = errors.New("it is in use")
