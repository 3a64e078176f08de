package lease

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"
)

// Lease is one that was taken.
type Lease struct{ lock *flock.Flock }

// Take takes the lease of that id in dir, which is made where it is missing,
// or returns ErrHeld.
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

// Inherited is nothing: a lock is its process's own here.
func (l *Lease) Inherited() []*os.File { return nil }

// Close lets go.
func (l *Lease) Close() error { return l.lock.Close() }

// Remove lets go and removes the file: the workspace is no more.
func (l *Lease) Remove() error {
	if err := l.lock.Close(); err != nil {
		return err
	}
	return os.Remove(l.lock.Path())
}
