package private

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/gofrs/flock"
)

// ErrHeld says that somebody else holds a lock: another process, or another Lock
// of this one.
var ErrHeld = errors.New("another process holds it")

// lockPause is the time between two tries of AwaitLock; no event tells that a lock
// is free.
const lockPause = 2 * time.Millisecond

// Lock is a lock on a file (flock(2), LockFileEx on Windows) that this process
// holds. It ends with the process.
type Lock struct{ held *flock.Flock }

// Close releases the lock, and closes the file.
func (l *Lock) Close() error { return l.held.Close() }

// TryLock takes the lock on the file at path. It does not wait: if the lock is
// held, the error is ErrHeld. It makes a missing file with mode 0600. A file that
// exists must pass the checks of Open. The caller closes the lock.
func TryLock(path string) (*Lock, error) {
	return take(path, os.O_CREATE, (*flock.Flock).TryLock)
}

// AwaitLock is TryLock, but waits while the lock is held. If ctx ends first, the
// error is ErrHeld and the cause of ctx's end.
func AwaitLock(ctx context.Context, path string) (*Lock, error) { return await(ctx, path, TryLock) }

// AwaitLockDir is TryLockDir, but waits as AwaitLock does.
func AwaitLockDir(ctx context.Context, path string) (*os.File, error) {
	return await(ctx, path, TryLockDir)
}

// await calls try until its error is not ErrHeld.
func await[L any](ctx context.Context, path string, try func(string) (L, error)) (L, error) {
	for {
		l, err := try(path)
		if !errors.Is(err, ErrHeld) {
			return l, err
		}
		select {
		case <-time.After(lockPause):
		case <-ctx.Done():
			return l, fmt.Errorf("%w: %w", err, context.Cause(ctx))
		}
	}
}

// TryShare takes a shared lock on the file at path. Several processes can hold
// one; TryLock then fails. It does not wait: if a lock of TryLock is held, the
// error is ErrHeld. A missing file is fs.ErrNotExist. A file must pass the checks
// of Open. The caller closes the lock.
func TryShare(path string) (*Lock, error) { return take(path, 0, (*flock.Flock).TryRLock) }

// MakeShared is TryShare, but makes a missing file with mode 0600.
func MakeShared(path string) (*Lock, error) {
	return take(path, os.O_CREATE, (*flock.Flock).TryRLock)
}

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

// take opens the file at path with flags, and locks it with try.
func take(path string, flags int, try func(*flock.Flock) (bool, error)) (*Lock, error) {
	held := flock.New(path, flock.SetFlag(os.O_RDWR|flags|openFlags), flock.SetPermissions(0o600))
	ok, err := try(held)
	if err != nil {
		return nil, fmt.Errorf("take lock: %w", notOpened(path, err))
	}
	if !ok {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", path, ErrHeld), held.Close())
	}
	info, err := held.Stat()
	if err == nil {
		err = checkOpened(path, info)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("take lock: %w", err), held.Close())
	}
	return &Lock{held}, nil
}
