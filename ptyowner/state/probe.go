package state

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"middleman/internal/private"
	"middleman/terminal"
	"middleman/terminal/host"
)

// Life is what a session's locks prove. The zero value means that they prove
// nothing.
type Life int

// The values of Life.
const (
	Alive    Life = iota + 1 // a lock is held: an owner runs, or its host starts another
	Dead                     // the locks are free: no owner runs, the state may be cleaned
	Starting                 // start.lock is held: an owner may come at any moment
)

// lookAgain is how often to try a lock whose holder is about to end.
const lookAgain = 5 * time.Millisecond

// Probe tries owner.lock, the only proof of life, without blocking. If the file
// is missing, no owner has come far enough to take the lock: only owners create
// the file, and nothing removes it. That is a proof only if the caller holds
// start.lock or start.lock is free. An error proves nothing.
func (d Dir) Probe() (Life, error) {
	lock, err := private.TryShare(d.File(OwnerLockFile))
	if errors.Is(err, fs.ErrNotExist) {
		return d.probeUnlocked()
	}
	life, release, err := d.judge(lock, err)
	release()
	return life, err
}

// IsStarting reports whether somebody holds start.lock: a starter, or an owner that has
// not come as far as owner.lock. An error proves nothing.
func (d Dir) IsStarting() (bool, error) { return private.IsHeld(d.File(StartLockFile)) }

// Hold is Probe, but keeps owner.lock if that is free: then no owner can start
// until release is called. If the file is missing and no owner has run, Hold
// makes it. release is never nil.
func (d Dir) Hold() (l Life, release func(), err error) {
	lock, err := private.TryShare(d.File(OwnerLockFile))
	if errors.Is(err, fs.ErrNotExist) {
		if l, err := d.probeUnlocked(); err != nil {
			return l, func() {}, err
		}
		lock, err = private.MakeShared(d.File(OwnerLockFile))
	}
	return d.judge(lock, err)
}

// judge returns what Hold does, after an attempt to take owner.lock.
func (d Dir) judge(lock *private.Lock, err error) (l Life, release func(), _ error) {
	switch {
	case errors.Is(err, private.ErrHeld):
		return Alive, func() {}, nil
	case err != nil:
		return 0, func() {}, err
	}
	release = func() { lock.Close() }
	if ok, err := d.isHosted(); err != nil || ok {
		return Alive, release, err
	}
	return Dead, release, nil
}

// goneTime is how long a host may take to end after its first owner failed.
const goneTime = 5 * time.Second

// HoldGone is Hold for a session whose owner failed at its start. It waits up
// to 5 s for the session's host to end.
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

// isHosted reports whether the session's host lives and would start another
// owner if one is killed. Once the exit is on disk the host starts no owner; it
// stays only for the processes that the program left.
func (d Dir) isHosted() (bool, error) {
	if _, err := os.Lstat(d.File(ExitFile)); err == nil {
		return false, nil
	}
	return d.hostLives()
}

// hostLives reports whether the session's host has not ended.
func (d Dir) hostLives() (bool, error) { return private.IsHeld(d.File(host.LockFile)) }

// Lingers reports whether the owner or the host of a session that has ended still
// runs, as both do while processes of the session are left. An error proves nothing.
func (d Dir) Lingers() (bool, error) {
	for _, lock := range []string{OwnerLockFile, host.LockFile} {
		if held, err := private.IsHeld(d.File(lock)); held || err != nil {
			return held, err
		}
	}
	return false, nil
}

// AwaitHostEnd blocks until the session's host has ended, until an error keeps
// it from telling, or until the time within is over.
func (d Dir) AwaitHostEnd(within time.Duration) {
	for deadline := time.Now().Add(within); time.Now().Before(deadline); time.Sleep(lookAgain) {
		if lives, err := d.hostLives(); !lives || err != nil {
			return
		}
	}
}

// probeUnlocked decides for a missing owner.lock. An owner writes owner.json
// after it took the lock. So if owner.json exists, the lock file was removed,
// and nothing proves whether the owner lives.
func (d Dir) probeUnlocked() (Life, error) {
	if _, err := os.Lstat(d.Path); errors.Is(err, fs.ErrNotExist) {
		return Dead, terminal.ErrNotFound
	}
	if _, err := os.Lstat(d.File(RecordFile)); !errors.Is(err, fs.ErrNotExist) {
		return 0, fmt.Errorf("%w: %s was removed, so nothing proves whether its owner lives", terminal.ErrUnreachable, d.File(OwnerLockFile))
	}
	if held, err := private.IsHeld(d.File(formerLock)); err != nil || held {
		return 0, cmp.Or(err, fmt.Errorf("%w: an earlier build started it on tmux, without an owner: `middleman doctor` tells how to end it", terminal.ErrUnreachable))
	}
	return Dead, nil
}
