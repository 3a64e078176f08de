package lease

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"
)

// Lease is a lease that this process holds.
type Lease struct{ lock *flock.Flock }

// Take takes the lease with that id in dir without waiting, or returns ErrHeld.
// It makes dir if it is missing.
func Take(dir, id string) (*Lease, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	lock := flock.New(filepath.Join(dir, id))
	got, err := lock.TryLock()
	if err == nil && !got {
		err = ErrHeld
	}
	if err != nil {
		return nil, fmt.Errorf("take lease %s: %w", id, err)
	}
	return &Lease{lock}, nil
}

// Inherited returns nil: on Windows a child cannot inherit the lock.
func (l *Lease) Inherited() []*os.File { return nil }

// Close lets go of the lease.
func (l *Lease) Close() error { return l.lock.Close() }

// Remove lets go of the lease and deletes the file, once the workspace is gone.
func (l *Lease) Remove() error {
	if err := l.lock.Close(); err != nil {
		return err
	}
	return os.Remove(l.lock.Path())
}
