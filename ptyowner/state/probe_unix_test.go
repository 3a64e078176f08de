//go:build unix

package state

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
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

// A record that was read before counts only while the same bytes are in a file that
// is still ours.
func TestRecords(t *testing.T) {
	d := Dir{ID: "s1", Path: t.TempDir()}
	path := d.File(RecordFile)
	write := func(text string) {
		t.Helper()
		if err := private.Replace(path, []byte(text), private.ThisBoot); err != nil {
			t.Fatal(err)
		}
	}
	const first, second = `{"format":1,"socket":"/x/s1.sock","build":"a"}`, `{"format":1,"socket":"/x/s1.sock","build":"b"}`
	var records Records
	for _, step := range []struct {
		name  string
		do    func()
		build string // "" is an error
	}{
		{"missing", func() {}, ""},
		{"new", func() { write(first) }, "a"},
		{"the same", func() {}, "a"},
		{"replaced", func() { write(second) }, "b"},
		{"written in place", func() { _ = os.WriteFile(path, []byte(first), 0o600) }, "a"},
		{"writable by others", func() { _ = os.Chmod(path, 0o666) }, ""},
		{"closed again", func() { _ = os.Chmod(path, 0o600) }, "a"},
		{"of another session", func() { write(`{"format":1,"socket":"/x/s2.sock"}`) }, ""},
		{"empty", func() { write("") }, ""},
		{"whole again", func() { write(second) }, "b"},
		{"a link", func() {
			_ = os.Rename(path, path+".json")
			_ = os.Symlink(path+".json", path)
		}, ""},
		{"removed", func() { _ = os.Remove(path) }, ""},
	} {
		step.do()
		got, err := records.Read(d)
		want, wantErr := d.ReadRecord()
		if got.Build != step.build || (err != nil) != (step.build == "") || !reflect.DeepEqual(got, want) || fmt.Sprint(err) != fmt.Sprint(wantErr) {
			t.Errorf("%s: %+v, %v; a first read: %+v, %v", step.name, got, err, want, wantErr)
		}
	}
}
