//go:build unix

package private_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"middleman/internal/private"
	"middleman/internal/testenv"
)

func take(t *testing.T, path string) *private.Lock {
	t.Helper()
	l, err := private.TryLock(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func checkHeld(t *testing.T, path string, want bool) {
	t.Helper()
	if held, err := private.IsHeld(path); held != want || err != nil {
		t.Errorf("held: %t, %v, want %t", held, err, want)
	}
}

func TestLock(t *testing.T) {
	path := filepath.Join(testenv.ShortDir(t), "lock")
	checkHeld(t, path, false)
	if _, err := private.TryShare(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("share a missing file: %v", err)
	}
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a look has made the file: %v", err)
	}
	lock := take(t, path)
	if info, err := os.Lstat(path); err != nil || info.Mode() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	checkHeld(t, path, true)
	for name, try := range map[string]func(string) (*private.Lock, error){"alone": private.TryLock, "shared": private.TryShare} {
		if _, err := try(path); !errors.Is(err, private.ErrHeld) || !strings.Contains(err.Error(), path) {
			t.Errorf("a second one, %s: %v", name, err)
		}
	}
	must(t, lock.Close())
	checkHeld(t, path, false)
	one, err := private.TryShare(path)
	must(t, err)
	defer one.Close()
	other, err := private.TryShare(path)
	must(t, err)
	defer other.Close()
	checkHeld(t, path, false)
	if _, err := private.TryLock(path); !errors.Is(err, private.ErrHeld) {
		t.Errorf("alone beside shared ones: %v", err)
	}
}

// A file that another user could have put there is no lock, and a pipe does not
// block.
func TestLockRefusesUnsafeFiles(t *testing.T) {
	for _, tt := range unsafeFiles {
		t.Run(tt.name, func(t *testing.T) {
			path := tt.make(t)
			for name, try := range map[string]func(string) (*private.Lock, error){"TryLock": private.TryLock, "TryShare": private.TryShare} {
				if l, err := try(path); err == nil || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("%s: %v, %v, want %q", name, l, err, tt.want)
				}
			}
			if held, err := private.IsHeld(path); held || err == nil {
				t.Errorf("IsHeld: %t, %v", held, err)
			}
		})
	}
}

func TestAwaitLock(t *testing.T) {
	path := filepath.Join(testenv.ShortDir(t), "lock")
	lock := take(t, path)
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(why)
	if _, err := private.AwaitLock(ctx, path); !errors.Is(err, private.ErrHeld) || !errors.Is(err, why) {
		t.Errorf("waited in vain: %v", err)
	}
	got := make(chan error)
	go func() {
		l, err := private.AwaitLock(context.Background(), path)
		if err == nil {
			err = l.Close()
		}
		got <- err
	}()
	must(t, lock.Close())
	must(t, <-got)
}

// A process that inherited the file holds the lock after this one has closed it.
func TestInheritedLock(t *testing.T) {
	path := filepath.Join(testenv.ShortDir(t), "lock")
	lock, err := private.TryLockFile(path)
	must(t, err)
	if _, err := private.TryLockFile(path); !errors.Is(err, private.ErrHeld) {
		t.Errorf("a second one: %v", err)
	}
	cmd := exec.Command("cat")
	in, err := cmd.StdinPipe()
	must(t, err)
	cmd.ExtraFiles = []*os.File{lock}
	must(t, cmd.Start())
	must(t, lock.Close())
	checkHeld(t, path, true)
	must(t, in.Close())
	must(t, cmd.Wait())
	checkHeld(t, path, false)
}

func TestTryLockDir(t *testing.T) {
	dir := testenv.ShortDir(t)
	f, err := private.TryLockDir(dir)
	must(t, err)
	if _, err := private.TryLockDir(dir); !errors.Is(err, private.ErrHeld) {
		t.Errorf("a second one: %v", err)
	}
	must(t, f.Close())
	f, err = private.TryLockDir(dir)
	must(t, err)
	must(t, f.Close())
	if _, err := private.TryLockDir(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing one: %v", err)
	}
}

// unsafeFiles are what stands where a file of middleman's state is wanted, and
// what the error says.
var unsafeFiles = []struct {
	name string
	make func(*testing.T) string
	want string
}{
	{"a pipe", func(t *testing.T) string {
		path := filepath.Join(testenv.ShortDir(t), "x")
		must(t, unix.Mkfifo(path, 0o600))
		return path
	}, "is a FIFO"},
	{"a link", func(t *testing.T) string {
		path := filepath.Join(testenv.ShortDir(t), "x")
		must(t, os.WriteFile(path+".real", nil, 0o600))
		must(t, os.Symlink("x.real", path))
		return path
	}, "is a symbolic link"},
	{"a link to nothing", func(t *testing.T) string {
		path := filepath.Join(testenv.ShortDir(t), "x")
		must(t, os.Symlink("none", path))
		return path
	}, "is a symbolic link"},
	{"a directory", func(t *testing.T) string { return testenv.ShortDir(t) }, "is a directory"},
	{"writable by the group", func(t *testing.T) string {
		path := filepath.Join(testenv.ShortDir(t), "x")
		must(t, os.WriteFile(path, []byte("text"), 0o600))
		must(t, os.Chmod(path, 0o620))
		return path
	}, "is writable by others (mode 0620)"},
	{"of another user", func(t *testing.T) string {
		needRoot(t)
		path := filepath.Join(testenv.ShortDir(t), "x")
		must(t, os.WriteFile(path, []byte("text"), 0o600))
		must(t, os.Chown(path, stranger, -1))
		return path
	}, "belongs to user 61234"},
}
