package state

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/gofrs/flock"

	"middleman/internal/private"
	"middleman/terminal"
	"middleman/terminal/host"
)

// Life is what a session's locks prove. The zero value is that they prove nothing.
type Life int

// What locks prove.
const (
	Alive Life = iota + 1 // one is held: an owner runs, or its host starts another
	Dead                  // free: no owner runs, its state may be cleaned
)

// lookAgain is how often a lock is tried whose holder is to end.
const lookAgain = 5 * time.Millisecond

// Probe tries owner.lock, the only proof of life, and does not wait for it. A
// missing lock file proves that no owner has got as far as taking it, if start.lock
// is held by the caller or is free; it is made by owners alone and never removed.
// An error proves nothing.
func (d Dir) Probe() (Life, error) {
	life, release, err := d.Hold()
	release()
	return life, err
}

// Hold is Probe, and where there is no owner none can come until release is
// called. release is never nil.
func (d Dir) Hold() (l Life, release func(), err error) {
	path := d.File(OwnerLockFile)
	lock := flock.New(path, flock.SetFlag(os.O_RDWR))
	ok, err := lock.TryRLock()
	if errors.Is(err, fs.ErrNotExist) {
		l, err = d.probeUnlocked()
		return l, func() {}, err
	}
	if err != nil {
		return 0, func() {}, fmt.Errorf("try %s: %w", path, err)
	}
	if !ok {
		return Alive, func() { lock.Close() }, nil
	}
	if ok, err = d.isHosted(); err != nil || ok {
		return Alive, func() { lock.Close() }, err
	}
	return Dead, func() { lock.Close() }, nil
}

// goneTime is how long a host may take to end after its first owner has failed.
const goneTime = 5 * time.Second

// HoldGone is Hold for a session whose owner has failed at its start: it gives the
// session's host 5 s to end.
func (d Dir) HoldGone() (l Life, release func(), err error) {
	for deadline := time.Now().Add(goneTime); ; {
		l, release, err = d.Hold()
		hosted, hostErr := d.isHosted()
		if l == Dead || err != nil || hostErr != nil || !hosted || d.isOwned() || time.Now().After(deadline) {
			return l, release, err
		}
		release()
		time.Sleep(lookAgain)
	}
}

// isOwned reports whether an owner holds its lock.
func (d Dir) isOwned() bool {
	held, err := private.IsHeld(d.File(OwnerLockFile))
	return err == nil && held
}

// isHosted reports whether the session's host lives, which starts another owner
// where one was killed. Once the exit is on disk no owner comes, and the host
// stays for what the program has left.
func (d Dir) isHosted() (bool, error) {
	if _, err := os.Lstat(d.File(ExitFile)); err == nil {
		return false, nil
	}
	return d.hostLives()
}

// hostLives reports whether the session's host has not ended.
func (d Dir) hostLives() (bool, error) { return private.IsHeld(d.File(host.LockFile)) }

// AwaitHostEnd blocks until the session's host has ended, until that cannot be told,
// or until time is up.
func (d Dir) AwaitHostEnd(within time.Duration) {
	for deadline := time.Now().Add(within); time.Now().Before(deadline); time.Sleep(lookAgain) {
		if lives, err := d.hostLives(); !lives || err != nil {
			return
		}
	}
}

// probeUnlocked decides where there is no owner.lock: before an owner took
// it there is no owner.json; after, somebody has removed the lock, and
// nothing proves anything.
func (d Dir) probeUnlocked() (Life, error) {
	if _, err := os.Lstat(d.Path); errors.Is(err, fs.ErrNotExist) {
		return Dead, terminal.ErrNotFound
	}
	if _, err := os.Lstat(d.File(RecordFile)); !errors.Is(err, fs.ErrNotExist) {
		return 0, fmt.Errorf("%w: %s was removed, so nothing proves whether its owner lives", terminal.ErrUnreachable, d.File(OwnerLockFile))
	}
	if held, err := private.IsHeld(d.File(formerLock)); err != nil || held {
		return 0, cmp.Or(err, fmt.Errorf("%w: it runs on tmux since before sessions there had owners: `middleman doctor` tells how to end it", terminal.ErrUnreachable))
	}
	return Dead, nil
}
