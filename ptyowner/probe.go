package ptyowner

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

// life is what owner.lock proves.
type life int

const (
	alive life = iota + 1 // held: an owner runs
	dead                  // free: no owner runs, its state may be cleaned
)

// lookAgain is how often a lock is tried whose holder is to end.
const lookAgain = 5 * time.Millisecond

// probe asks owner.lock, the only proof of life. A missing lock file proves
// that no owner has got as far as taking it, if start.lock is held by the
// caller or is free; it is made by owners alone and never removed.
func (d stateDir) probe() (life, error) {
	life, release, err := d.hold()
	release()
	return life, err
}

// hold is probe, and where there is no owner none can come until release is
// called.
func (d stateDir) hold() (l life, release func(), err error) {
	path := d.file(ownerLockFile)
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
		return alive, func() { lock.Close() }, nil
	}
	if ok, err = d.isHosted(); err != nil || ok {
		return alive, func() { lock.Close() }, err
	}
	return dead, func() { lock.Close() }, nil
}

// goneTime is how long a host may take to end after its first owner has failed.
const goneTime = 5 * time.Second

// holdGone is hold, after the end of a host whose owner has failed.
func (d stateDir) holdGone() (l life, release func(), err error) {
	for deadline := time.Now().Add(goneTime); ; {
		l, release, err = d.hold()
		hosted, hostErr := d.isHosted()
		if l == dead || err != nil || hostErr != nil || !hosted || d.isOwned() || time.Now().After(deadline) {
			return l, release, err
		}
		release()
		time.Sleep(lookAgain)
	}
}

// isOwned reports whether an owner holds its lock.
func (d stateDir) isOwned() bool {
	held, err := private.IsHeld(d.file(ownerLockFile))
	return err == nil && held
}

// isHosted reports whether the session's host lives, which starts another owner
// where one was killed. Once the exit is on disk no owner comes, and the host
// stays for what the program has left.
func (d stateDir) isHosted() (bool, error) {
	if _, err := os.Lstat(d.file(exitFile)); err == nil {
		return false, nil
	}
	return d.hostLives()
}

// hostLives reports whether the session's host has not ended.
func (d stateDir) hostLives() (bool, error) { return private.IsHeld(d.file(host.LockFile)) }

// awaitHostEnd returns when the session's host has ended, when that is not known,
// or after d.
func (d stateDir) awaitHostEnd(within time.Duration) {
	for deadline := time.Now().Add(within); time.Now().Before(deadline); time.Sleep(lookAgain) {
		if lives, err := d.hostLives(); !lives || err != nil {
			return
		}
	}
}

// probeUnlocked decides where there is no owner.lock: before an owner took
// it there is no owner.json; after, somebody has removed the lock, and
// nothing proves anything.
func (d stateDir) probeUnlocked() (life, error) {
	if _, err := os.Lstat(d.path); errors.Is(err, fs.ErrNotExist) {
		return dead, terminal.ErrNotFound
	}
	if _, err := os.Lstat(d.file(recordFile)); !errors.Is(err, fs.ErrNotExist) {
		return 0, fmt.Errorf("%w: %s was removed, so nothing proves whether its owner lives", terminal.ErrUnreachable, d.file(ownerLockFile))
	}
	if held, err := private.IsHeld(d.file(formerLock)); err != nil || held {
		return 0, cmp.Or(err, fmt.Errorf("%w: it runs on tmux since before sessions there had owners: `middleman doctor` tells how to end it", terminal.ErrUnreachable))
	}
	return dead, nil
}
