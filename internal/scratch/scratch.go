// Package scratch makes directories for temporary files that programs outside of this
// one are given: git, bubblewrap, man. Nobody else can replace what is in them, no
// other user and no sandboxed program, and they do not stay when a process is killed:
// the next server removes them.
package scratch

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"middleman/internal/private"
)

const (
	// prefix begins the names of directories that are not in a directory of ours.
	prefix = "middleman-"
	// lockFile is in each directory, and locked by the process that uses it.
	lockFile = "middleman.lock"
	// young is the age up to which a directory may be one that is not locked yet.
	young = time.Minute
)

// top is where Make makes directories, "" for the system's temporary files.
var top atomic.Value

// Use makes a directory of this user's alone the place of all that Make makes later.
// It need not exist. Without Use that is the directory for temporary files, where
// programs in a Landlock sandbox may replace what is there.
func Use(dir string) { top.Store(dir) }

func place() string {
	dir, _ := top.Load().(string)
	return dir
}

// Dir is a directory of this process's own, with mode 0700.
type Dir struct {
	Path string
	lock *private.Lock
}

// Make makes a directory. kind is a word that becomes a part of its name. It refuses
// a place where another user could replace it. The caller closes it.
func Make(kind string) (*Dir, error) {
	dir := place()
	var err error
	if dir == "" {
		dir, kind = os.TempDir(), prefix+kind
		err = Check()
	} else {
		err = private.MakeDir(dir)
	}
	if err != nil {
		return nil, err
	}
	path, err := os.MkdirTemp(dir, kind+"-")
	if err != nil {
		return nil, fmt.Errorf("make a temporary directory: %w", err)
	}
	lock, err := private.TryLock(filepath.Join(path, lockFile))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock a temporary directory: %w", err), os.RemoveAll(path))
	}
	return &Dir{path, lock}, nil
}

// Check returns an error if another user could replace what is in the system's
// directory for temporary files.
func Check() error {
	dir := os.TempDir()
	err := private.Trusted(dir)
	if unsafe, is := errors.AsType[*private.UnsafeError](err); is {
		return fmt.Errorf("directory for temporary files: %w; TMPDIR points there, as it does after `su` without `-`: unset TMPDIR", unsafe)
	}
	return err
}

// Close removes the directory. Where that fails, a later Sweep does it.
func (d *Dir) Close() {
	_ = d.lock.Close() // before: Windows removes no open file
	_ = os.RemoveAll(d.Path)
}

// Sweep removes what processes that have ended left in the directory of Use. It returns
// an error if it could not remove something.
func Sweep() error {
	dir := place()
	if dir == "" {
		return nil
	}
	err := private.Dir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var entries []os.DirEntry
	if err == nil {
		entries, err = os.ReadDir(dir)
	}
	if err != nil {
		return fmt.Errorf("look for temporary directories: %w", err)
	}
	var failed error
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.IsDir() && !strings.HasPrefix(e.Name(), ".") && time.Since(info.ModTime()) > young {
			failed = errors.Join(failed, sweep(filepath.Join(dir, e.Name())))
		}
	}
	return failed
}

// sweep removes a directory of Make's that nobody uses.
func sweep(path string) error {
	if held, err := private.IsHeld(filepath.Join(path, lockFile)); held || err != nil {
		return nil // what has no lock comes from a process that came no further
	}
	return os.RemoveAll(path)
}
