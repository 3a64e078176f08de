package keep

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"middleman/internal/git"
	"middleman/workspace/basedir"
	"middleman/workspace/model"
)

// openRestored opens the directory for the restored workspace, and sets the place
// where it comes back.
func (r *restoration) openRestored() (err error) {
	if r.held, err = basedir.HoldingMade(r.own, r.w); err != nil {
		return err
	}
	r.base = r.held.Root
	if r.opened, err = r.base.Stat("."); err == nil {
		err = r.choose()
	}
	if err != nil {
		return errors.Join(err, r.held.Close())
	}
	return nil
}

// claimed chooses the place again, if it is in a group, and calls f, which takes it.
// A lock keeps others from taking it meanwhile.
func (r *restoration) claimed(ctx context.Context, f func() error) error {
	if !r.held.IsGroup() {
		return f()
	}
	lock, err := basedir.Lock(ctx, r.base)
	if err != nil {
		return err
	}
	defer lock.Close() // closing nil only returns an error
	if err := r.choose(); err != nil {
		return err
	}
	return f()
}

// choose sets the workspace's place.
func (r *restoration) choose() error {
	name, err := r.place()
	if err == nil {
		r.w.Root = filepath.Join(r.base.Name(), name)
	}
	return err
}

// put moves a directory to the workspace's place.
func (r *restoration) put(from string) error {
	err := basedir.MoveFree(r.base, from, basedir.Name(r.w))
	if errors.Is(err, fs.ErrExist) {
		err = fmt.Errorf("%s: %w", r.w.Root, ErrOccupied)
	}
	return err
}

// makeDir makes a directory where the workspace gets its place. If others have
// removed the group meanwhile, the error wraps basedir.ErrNoGroup.
func (r *restoration) makeDir(name string) error {
	err := basedir.MakeDir(r.base, name)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %w", basedir.ErrNoGroup, err)
	}
	return err
}

// lostGroup reports whether the restore failed because a delete of the last workspace
// in a group removed that meanwhile.
func (r *restoration) lostGroup(err error) bool {
	if errors.Is(err, basedir.ErrNoGroup) {
		return true
	}
	if err == nil || r.opened == nil || !r.held.IsGroup() {
		return false
	}
	now, err := os.Lstat(r.base.Name())
	return errors.Is(err, fs.ErrNotExist) || err == nil && now.IsDir() && !os.SameFile(now, r.opened)
}

// place returns the name of the directory in r.base: the one it had, unless another
// has that by now. If its scope is gone the workspace comes back in the manager's own
// base. A restore that was killed goes on where it was.
func (r *restoration) place() (string, error) {
	name := basedir.Name(r.w)
	if filepath.Dir(r.w.Root) != r.base.Name() {
		return r.w.ID, nil
	}
	if name == r.w.ID || r.w.Mode != model.ModeWorktree {
		return name, nil
	}
	if begun := r.begun(); begun != "" {
		return begun, nil
	}
	roots, err := git.EntryRoots(r.w.GitDir)
	if err != nil {
		return "", err
	}
	for n := 0; n <= model.MaxSuffix; n++ {
		try := name
		if n > 0 {
			try = model.Numbered(r.w.Name, n)
		}
		if !model.IsPlaceName(try) || roots[filepath.Join(r.base.Name(), try)] != "" {
			continue
		}
		if _, err := r.base.Lstat(try); errors.Is(err, fs.ErrNotExist) {
			return try, nil
		} else if err != nil {
			return "", err
		}
	}
	return "", fmt.Errorf("%s and %d more with a number: %w", r.w.Root, model.MaxSuffix, ErrOccupied)
}

// begun returns the name of the directory that a restore which was killed had
// chosen, or "": git's entry or the link to add it says so.
func (r *restoration) begun() string {
	entry := filepath.Join(r.w.GitDir, "worktrees", r.w.ID)
	at, err := git.EntryRoot(entry)
	if err == nil && filepath.Dir(at) == r.base.Name() && model.IsPlaceName(filepath.Base(at)) {
		return filepath.Base(at)
	}
	return basedir.Linked(r.base, r.w.ID)
}
