// Package lease proves whether a program uses an ephemeral workspace. A lease
// is a lock on a file that is named by the workspace's id. The process that
// starts the program takes the lock and lets the program inherit it. So it is
// held until both, and all that the program has started, have ended or closed
// it. If the lock can be taken, they have. A missing file alone proves nothing,
// so a deleter takes the lock too.
package lease

import (
	"fmt"
	"io"
	"path/filepath"

	"middleman/internal/private"
)

// Lease is a lease that this process holds.
type Lease struct {
	path string
	lock io.Closer
}

// Take takes the lease with that id in dir without waiting. If another process
// holds it, the error is private.ErrHeld. Take makes dir as private.MakeDir does.
func Take(dir, id string) (*Lease, error) {
	if err := private.MakeDir(dir); err != nil {
		return nil, fmt.Errorf("take lease %s: %w", id, err)
	}
	path := filepath.Join(dir, id)
	lock, err := take(path)
	if err != nil {
		return nil, fmt.Errorf("take lease %s: %w", id, err)
	}
	return &Lease{path, lock}, nil
}

// Close lets go of the lease. Processes that inherited it still hold it.
func (l *Lease) Close() error { return l.lock.Close() }
