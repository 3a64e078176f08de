package lease

import (
	"io"
	"os"

	"middleman/internal/private"
)

func take(path string) (io.Closer, error) { return private.TryLock(path) }

// Inherited returns nil: on Windows a child cannot inherit the lock.
func (l *Lease) Inherited() []*os.File { return nil }

// Remove lets go of the lease and deletes the file, once the workspace is gone.
func (l *Lease) Remove() error {
	if err := l.Close(); err != nil {
		return err
	}
	return os.Remove(l.path)
}
