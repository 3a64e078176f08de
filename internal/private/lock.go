package private

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
)

// ErrHeld says that somebody else holds a lock: another process, or another Lock
// of this one.
var ErrHeld = errors.New("another process holds it")

// lockPause is the time between two tries of AwaitLock; no event tells that a lock
// is free.
const lockPause = 2 * time.Millisecond

// Lock is a lock on a file (flock(2)) that this process holds. It ends with the
// process. Processes that inherited File hold it too.
type Lock struct{ *os.File }

// Close releases the lock, also for processes that inherited the file, and closes
// the file. File.Close releases it for this process only.
func (l *Lock) Close() error { return errors.Join(unlock(l.File), l.File.Close()) }

// TryLock takes the lock on the file at path. It does not wait: if the lock is
// held, the error is ErrHeld. It makes a missing file with mode 0600. A file that
// exists must pass the checks of Open. The caller closes the lock.
func TryLock(path string) (*Lock, error) { return tryLock(path, os.O_CREATE, true) }

// AwaitLock is TryLock, but waits while the lock is held. If ctx ends first, the
// error is ErrHeld and the cause of ctx's end.
func AwaitLock(ctx context.Context, path string) (*Lock, error) {
	for {
		l, err := TryLock(path)
		if !errors.Is(err, ErrHeld) {
			return l, err
		}
		select {
		case <-time.After(lockPause):
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: %w", err, context.Cause(ctx))
		}
	}
}

// TryShare takes a shared lock on the file at path. Several processes can hold
// one; TryLock then fails. It does not wait: if a lock of TryLock is held, the
// error is ErrHeld. A missing file is fs.ErrNotExist. A file must pass the checks
// of Open. The caller closes the lock.
func TryShare(path string) (*Lock, error) { return tryLock(path, 0, false) }

// IsHeld reports whether a lock of TryLock on the file at path is held. That of a
// missing file is not; IsHeld does not make the file. An error proves nothing.
func IsHeld(path string) (bool, error) {
	l, err := TryShare(path)
	switch {
	case err == nil:
		return false, l.Close()
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case errors.Is(err, ErrHeld):
		return true, nil
	}
	return false, err
}

func tryLock(path string, flags int, alone bool) (*Lock, error) {
	f, err := open(path, os.O_RDWR|flags)
	if err != nil {
		return nil, fmt.Errorf("take lock: %w", err)
	}
	if err := lock(f, alone); err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), f.Close())
	}
	return &Lock{f}, nil
}
