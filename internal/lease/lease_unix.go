//go:build unix

package lease

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Lease is one that was taken.
type Lease struct{ file *os.File }

// Take takes the lease of that id in dir, which is made 0700 where it is
// missing, or returns ErrHeld.
func Take(dir, id string) (*Lease, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(filepath.Join(dir, id), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	err = unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		err = ErrHeld
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("take lease %s: %w", id, err), file.Close())
	}
	return &Lease{file}, nil
}

// Inherited is what a child is to inherit, so that it holds the lease too. It
// stays the lease's.
func (l *Lease) Inherited() []*os.File { return []*os.File{l.file} }

// Close lets go. Who inherited the lease holds it still.
func (l *Lease) Close() error { return l.file.Close() }

// Remove removes the file and lets go: the workspace is no more.
func (l *Lease) Remove() error { return errors.Join(os.Remove(l.file.Name()), l.file.Close()) }
