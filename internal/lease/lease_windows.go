package lease

import "os"

// Inherited returns nil: on Windows a child cannot inherit the lock.
func (l *Lease) Inherited() []*os.File { return nil }

// Remove lets go of the lease and deletes the file, once the workspace is gone.
func (l *Lease) Remove() error {
	if err := l.Close(); err != nil {
		return err
	}
	return os.Remove(l.lock.Name())
}
