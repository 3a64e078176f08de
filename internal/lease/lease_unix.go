//go:build unix

package lease

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Lease is a lease that this process holds.
type Lease struct{ file *os.File }

// Take takes the lease with that id in dir without waiting, or returns ErrHeld.
// It makes dir with mode 0700 if it is missing.
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

// Inherited returns the files for exec.Cmd.ExtraFiles, so that a child holds
// the lease too. They stay open and owned by l.
func (l *Lease) Inherited() []*os.File { return []*os.File{l.file} }

// Close lets go of the lease. Processes that inherited it still hold it.
func (l *Lease) Close() error { return l.file.Close() }

// Remove deletes the file and lets go of the lease, once the workspace is gone.
func (l *Lease) Remove() error { return errors.Join(os.Remove(l.file.Name()), l.file.Close()) }
