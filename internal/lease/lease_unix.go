//go:build unix

package lease

import (
	"errors"
	"io"
	"os"

	"middleman/internal/private"
)

func take(path string) (io.Closer, error) { return private.TryLockFile(path) }

// Inherited returns the files for exec.Cmd.ExtraFiles, so that a child holds
// the lease too. They stay open and owned by l.
func (l *Lease) Inherited() []*os.File { return []*os.File{l.lock.(*os.File)} }

// Remove deletes the file and lets go of the lease, once the workspace is gone.
func (l *Lease) Remove() error { return errors.Join(os.Remove(l.path), l.Close()) }
