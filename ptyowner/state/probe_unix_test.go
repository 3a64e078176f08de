//go:build unix

package state

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"middleman/internal/private"
	"middleman/terminal"
)

func TestProbe(t *testing.T) {
	d := Dir{ID: "s1", Path: t.TempDir()}
	if life, err := d.Probe(); life != Dead || err != nil {
		t.Errorf("without a lock: %v, %v", life, err)
	}
	lock, err := private.TryLock(d.File(OwnerLockFile))
	if err != nil {
		t.Fatal(err)
	}
	if life, err := d.Probe(); life != Alive || err != nil {
		t.Errorf("held: %v, %v", life, err)
	}
	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}
	life, release, err := d.Hold()
	if life != Dead || err != nil {
		t.Errorf("free: %v, %v", life, err)
	}
	if _, err := private.TryLock(d.File(OwnerLockFile)); !errors.Is(err, private.ErrHeld) {
		t.Errorf("an owner could start: %v", err)
	}
	release()
	if err := os.WriteFile(d.File(RecordFile), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(d.File(OwnerLockFile)); err != nil {
		t.Fatal(err)
	}
	if life, err := d.Probe(); life != 0 || !errors.Is(err, terminal.ErrUnreachable) {
		t.Errorf("the lock was removed: %v, %v", life, err)
	}
}

// Who holds a session keeps owners from starting, also one that was on its way to
// its lock. A probe makes no lock; where an owner's lock was removed nobody does,
// because it would prove that the owner is dead.
func TestHoldWithoutALock(t *testing.T) {
	d := Dir{ID: "s1", Path: t.TempDir()}
	missing := func() {
		t.Helper()
		if _, err := os.Lstat(d.File(OwnerLockFile)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the lock was made: %v", err)
		}
	}
	if life, err := d.Probe(); life != Dead || err != nil {
		t.Errorf("%v, %v", life, err)
	}
	missing()
	life, release, err := d.Hold()
	if life != Dead || err != nil {
		t.Errorf("%v, %v", life, err)
	}
	if _, err := private.TryLockFile(d.File(OwnerLockFile)); !errors.Is(err, private.ErrHeld) {
		t.Errorf("an owner could start: %v", err)
	}
	release()
	lock, err := private.TryLockFile(d.File(OwnerLockFile))
	if err != nil {
		t.Fatalf("no owner can start afterwards: %v", err)
	}
	if err := errors.Join(lock.Close(), os.Remove(d.File(OwnerLockFile)), os.WriteFile(d.File(RecordFile), []byte("{}"), 0o600)); err != nil {
		t.Fatal(err)
	}
	life, release, err = d.Hold()
	release()
	if life != 0 || !errors.Is(err, terminal.ErrUnreachable) {
		t.Errorf("the lock was removed: %v, %v", life, err)
	}
	missing()
}

// A lock that an owner cannot have made proves nothing, though it is free.
func TestProbeOfAnUnsafeLock(t *testing.T) {
	for want, spoil := range map[string]func(path string) error{
		"is a symbolic link": func(path string) error {
			return errors.Join(os.WriteFile(path+".other", nil, 0o600), os.Symlink(path+".other", path))
		},
		"is a FIFO":             func(path string) error { return unix.Mkfifo(path, 0o600) },
		"is writable by others": func(path string) error { return errors.Join(os.WriteFile(path, nil, 0o600), os.Chmod(path, 0o660)) },
	} {
		d := Dir{ID: "s1", Path: t.TempDir()}
		if err := spoil(filepath.Join(d.Path, OwnerLockFile)); err != nil {
			t.Fatal(err)
		}
		if life, err := d.Probe(); life != 0 || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, %v, want %q", life, err, want)
		}
	}
}

// A host's name is read from a file of ours only, and no FIFO is waited for.
func TestHostName(t *testing.T) {
	d := Dir{ID: "s1", Path: t.TempDir()}
	path := d.File(HostFile)
	for want, put := range map[string]func() error{
		"tmux": func() error { return os.WriteFile(path, []byte("tmux"), 0o600) },
		"":     func() error { return unix.Mkfifo(path, 0o600) },
	} {
		if err := put(); err != nil {
			t.Fatal(err)
		}
		if name := d.HostName(); name != want {
			t.Errorf("%q, want %q", name, want)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}
