package leftover

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"middleman/internal/git"
	"middleman/internal/plaintext"
	"middleman/internal/private"
	"middleman/workspace/basedir"
	"middleman/workspace/model"
)

// Whereabouts says which parts of a workspace were moved or are gone.
type Whereabouts struct {
	// Missing: the directory is gone. For a directory of ours that is proved:
	// the base directory can be read, and has no such entry.
	Missing bool
	// Base is the directory's path in our base, if the record has another path:
	// the base was moved.
	Base string
	// Moved is the path at which git has the worktree by now.
	Moved string
	// NoRepository: the git directory is gone. Astray is the path in the
	// worktree's .git file, if that is not in its repository.
	NoRepository bool
	Astray       string
}

// Sound reports whether every part is where it was.
func (x Whereabouts) Sound() bool { return x == Whereabouts{} }

// Trouble returns a line for the user with the problem and the remedy, or "".
func (x Whereabouts) Trouble(w model.Workspace) string {
	switch {
	case x.Base != "":
		return fmt.Sprintf("its directory was moved to %s: middleman repair %s", x.Base, w.Name)
	case x.NoRepository:
		return fmt.Sprintf("its repository %s is gone: middleman repair %s in its new place, or with --repository DIR", plaintext.Quoted(w.Repository), w.Name)
	case x.Moved != "":
		return fmt.Sprintf("its worktree was moved to %s: middleman repair %s", plaintext.Quoted(x.Moved), w.Name)
	case x.Missing && w.Mode == model.ModeInPlace:
		return fmt.Sprintf("its directory %s is gone: middleman rm %s forgets it", plaintext.Quoted(w.Root), w.Name)
	case x.Missing && w.Mode == model.ModeWorktree:
		return fmt.Sprintf("its directory %s is gone: middleman repair %s in its new place if it was moved, or middleman rm %s --discard-work forgets it", w.Root, w.Name, w.Name)
	case x.Missing:
		return fmt.Sprintf("its directory %s is gone: put it back if it was moved, or middleman rm %s --discard-work forgets it", w.Root, w.Name)
	case x.Astray != "":
		return fmt.Sprintf("its .git leads to %s, not to its repository: middleman repair %s", plaintext.Quoted(x.Astray), w.Name)
	}
	return ""
}

// Where finds the workspace's directory and repository. It runs no program. An
// error means that it could not find out.
func (f Finder) Where(w model.Workspace) (x Whereabouts, err error) {
	if w.Mode == model.ModeInPlace {
		there, err := basedir.Exists(w.Root)
		x.Missing = !there && err == nil
		if there && w.GitDir != "" {
			there, err = basedir.Exists(w.GitDir)
			x.NoRepository = !there && err == nil
		}
		return x, err
	}
	if err := model.CheckID(w.ID); err != nil {
		return x, err
	}
	if f.plainlyThere(w) {
		return x, nil
	}
	base, err := basedir.Recorded(f.Base, w)
	_, scoped := basedir.ScopeOf(w.Root)
	scoped = scoped && w.BaseDir == ""
	if scoped && errors.Is(err, fs.ErrNotExist) {
		var held *basedir.Held
		if held, err = basedir.Holding(f.Base, w); err == nil {
			base = held.Root
		}
	}
	if err != nil {
		return x, err
	}
	defer base.Close()
	if !scoped {
		here, err := inBase(base, w)
		if err != nil {
			return x, err
		}
		if here != w.Root {
			x.Base, w.Root = here, here
		}
	}
	dir, err := standing(base, w)
	if err != nil {
		return x, err
	}
	x.Missing = dir == ""
	if w.Mode == model.ModeWorktree {
		err = x.follow(w, dir)
	}
	return x, err
}

// inBase returns the path that w has in base: that of its record, or the one to
// which it moved with the base, where something must be. Without a recorded path it
// searches the base.
func inBase(base *os.Root, w model.Workspace) (string, error) {
	here := basedir.InBase(base.Name(), w)
	if here == w.Root {
		return here, nil
	}
	there, err := basedir.Exists(here)
	if there || err != nil {
		return here, err
	}
	group := filepath.Base(filepath.Dir(w.Root))
	if at := filepath.Join(base.Name(), group, basedir.Name(w)); basedir.IsPlace(base.Name(), at) { // named by its id
		if there, err := basedir.Exists(at); there || err != nil {
			return at, err
		}
	}
	if w.Root == "" {
		if found, err := basedir.Search(base, "", w.ID); found != "" || err != nil {
			return found, err
		}
	}
	return "", fmt.Errorf("directory %s: not in %s: %w", plaintext.Quoted(w.Root), base.Name(), model.ErrEscapes)
}

// standing returns what basedir.Find does for w in base or in a group of it. It
// returns an error if a delete kept the directory under another name.
func standing(base *os.Root, w model.Workspace) (string, error) {
	holder := base
	if basedir.IsPlace(base.Name(), w.Root) {
		group, err := basedir.OpenGroup(base, filepath.Base(filepath.Dir(w.Root)), false)
		if errors.Is(err, basedir.ErrNoGroup) {
			return "", nil
		}
		if err != nil {
			return "", err
		}
		defer group.Close()
		holder = group
	}
	dir, err := basedir.Find(holder, w)
	if err != nil {
		return "", err
	}
	if _, err := holder.Lstat(basedir.KeptName(w.ID)); dir == "" && !errors.Is(err, fs.ErrNotExist) {
		return "", errors.Join(fmt.Errorf("%s is there instead of its directory: %w", basedir.KeptName(w.ID), model.ErrUnknown), err)
	}
	return dir, nil
}

// plainlyThere reports whether a directory of ours, or a worktree and its
// repository, are certainly in their places. It reads few files, because lists call
// it for many workspaces. False means only that Where must look closer.
func (f Finder) plainlyThere(w model.Workspace) bool {
	base := basedir.BaseOf(f.Base, w)
	if w.Mode == model.ModeDirectory && w.Root == filepath.Join(base, w.ID) && private.Dir(base) == nil {
		info, err := os.Lstat(w.Root)
		return err == nil && info.IsDir()
	}
	if w.Mode != model.ModeWorktree || w.Root != filepath.Join(base, w.ID) && !basedir.IsPlace(base, w.Root) {
		return false
	}
	if info, err := os.Lstat(filepath.Dir(w.Root)); err != nil || !info.IsDir() {
		return false
	}
	target, err := git.ReadPath(filepath.Join(w.Root, ".git"), w.Root)
	if err != nil || target != filepath.Join(w.GitDir, "worktrees", w.ID) {
		return false
	}
	there, err := basedir.Exists(target)
	return there && err == nil
}

// follow checks that the repository and the worktree at dir point to each
// other. dir is "" if the worktree is missing.
func (x *Whereabouts) follow(w model.Workspace, dir string) error {
	_, err := os.Stat(w.GitDir)
	if x.NoRepository = errors.Is(err, fs.ErrNotExist); x.NoRepository || err != nil {
		if x.NoRepository {
			err = nil
		}
		return err
	}
	entry := filepath.Join(w.GitDir, "worktrees", w.ID)
	if dir != "" {
		target, err := git.ReadPath(filepath.Join(dir, ".git"), dir)
		if err == nil && filepath.Dir(filepath.Dir(target)) != w.GitDir && !git.SameDir(filepath.Dir(filepath.Dir(target)), w.GitDir) {
			x.Astray = target
		}
		return nil
	}
	target, err := git.ReadPath(filepath.Join(entry, "gitdir"), entry)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if at := filepath.Dir(target); at != w.Root {
		if there, err := basedir.Exists(at); there || err != nil {
			x.Moved = at
		}
	}
	return nil
}
