package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"middleman/internal/contain"
	"middleman/internal/fault"
	"middleman/internal/git"
	"middleman/internal/plaintext"
	"middleman/workspace/basedir"
	"middleman/workspace/keep"
	"middleman/workspace/look"
)

// Delete deletes w and returns what was lost with it. It looks first, and
// unless discard is true it refuses with a *WorkError where work would be
// lost, and with an error wrapping ErrUnknown where that cannot be found out;
// nothing is changed then. The directory is moved out of reach and looked at
// again before anything is deleted. What is lost is kept for Restore first;
// where that cannot be done nothing is changed, and the error wraps ErrNotKept.
// A directory that is gone already, or a delete that was interrupted, deletes to
// the end. An in-place workspace loses nothing: its directory is the user's. No
// program may run in w any more.
//
// The branch goes with the workspace if it is below our prefix, checked out
// nowhere else, and where the look saw it; else it stays.
func (m *Manager) Delete(ctx context.Context, w Workspace, discard bool, progress Progress) (Loss, error) {
	if w.Mode == ModeInPlace {
		return Loss{}, nil
	}
	return m.delete(ctx, &deleteRun{w: w, discard: discard, report: progress.OrSilent()})
}

// deleteVanished is Delete for what nobody has a record of, or was never made
// whole: that its directory is gone keeps nothing from being deleted.
func (m *Manager) deleteVanished(ctx context.Context, w Workspace, discard bool) (Loss, error) {
	return m.delete(ctx, &deleteRun{w: w, discard: discard, vanished: true, report: Progress(nil).OrSilent()})
}

// delete begins and ends a run.
func (m *Manager) delete(ctx context.Context, d *deleteRun) (Loss, error) {
	base, err := basedir.Holding(m.base, d.w)
	if err == nil {
		defer base.Close()
		d.base, d.ours = base, m.ownsBranch(d.w)
		err = contain.Call(func() error { return d.run(ctx) })
	}
	if _, refused := errors.AsType[*WorkError](err); err != nil && !refused {
		err = fmt.Errorf("delete workspace %s: %w", d.w.Name, err)
	}
	return d.seen.Loss, err
}

// deleteRun is one run of Delete. Its methods stand in the order in which a
// delete meets them.
type deleteRun struct {
	w        Workspace
	base     *os.Root
	ours     bool // the branch of w is ours to delete
	discard  bool
	vanished bool // that the directory is gone keeps nothing from being deleted
	report   Progress

	dir     string // where the directory is now, or ""
	seen    look.Findings
	lookErr error // why not all of it was seen, with consent to lose it
	aside   bool  // the directory itself is what is kept
}

// run is a delete, from the first look to the branch. Until the directory is
// trash an error has it put back, and nothing has changed.
func (d *deleteRun) run(ctx context.Context) error {
	if err := d.report.Stage("look", func() error { return d.find(ctx) }); err != nil {
		return err
	}
	if d.dir != "" {
		if err := d.report.Stage("move", func() error { return d.move(ctx) }); err != nil {
			return err
		}
	}
	if err := contain.Call(func() error { return d.keep(ctx) }); err != nil {
		return d.putBack(err)
	}
	if err := d.forget(); err != nil {
		return err
	}
	if err := d.report.Stage("remove", d.removeTrash); err != nil {
		return err
	}
	return d.dropBranch(ctx)
}

// find finds the directory and looks at it for the first time.
func (d *deleteRun) find(ctx context.Context) (err error) {
	if d.dir, err = basedir.Find(d.base, d.w); err != nil {
		return err
	}
	return d.look(ctx)
}

// look decides whether the delete may go on with the directory where it is.
func (d *deleteRun) look(ctx context.Context) error {
	seen, err := look.ForDelete(ctx, d.w, d.dir, d.ours)
	d.seen, d.lookErr = seen, err
	switch {
	case d.discard && ctx.Err() == nil:
		return nil
	case errors.Is(err, ErrMissing) && seen.Loss.Empty() && (d.vanished || d.decided() || !errors.Is(err, ErrUnknown)):
		return nil
	case !seen.Loss.Empty():
		return &WorkError{Name: d.w.Name, Loss: seen.Loss}
	case err != nil && !errors.Is(err, ErrUnknown):
		return fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	return err
}

// decided reports whether an earlier delete has looked at the directory twice.
func (d *deleteRun) decided() bool {
	for _, name := range []string{basedir.TrashName(d.w.ID), basedir.KeptName(d.w.ID)} {
		if _, err := d.base.Lstat(name); err == nil {
			return true
		}
	}
	return false
}

// move takes the directory out of reach, looks once more at what cannot
// change by its path now, and puts it back if that is to be kept.
func (d *deleteRun) move(ctx context.Context) error {
	moved := basedir.DeletingName(d.w.ID)
	if d.dir == d.w.Root {
		if err := d.base.Rename(d.w.ID, moved); err != nil {
			return fmt.Errorf("move directory away: %w", err)
		}
	}
	d.dir = filepath.Join(d.base.Name(), moved)
	fault.Here("delete/moved")
	if err := d.look(ctx); err != nil {
		return d.putBack(err)
	}
	return nil
}

// putBack has the directory in its place again, because of err.
func (d *deleteRun) putBack(err error) error {
	moved := basedir.DeletingName(d.w.ID)
	back := d.base.Rename(moved, d.w.ID)
	if back != nil && !errors.Is(back, fs.ErrNotExist) {
		return fmt.Errorf("%w (it is now %s: %w)", err, filepath.Join(d.base.Name(), moved), back)
	}
	return err
}

// keep has what the delete is about to destroy kept, so that Restore can bring
// it back, and makes sure that the rest can be done.
func (d *deleteRun) keep(ctx context.Context) (err error) {
	kept := keep.Delete{Workspace: d.w, Base: d.base, Dir: d.dir, Seen: &d.seen, LookErr: d.lookErr, Report: d.report}
	if d.aside, err = kept.Keep(ctx); err != nil {
		return err
	}
	return d.canForget()
}

// canForget finds out, while the directory can still be put back, whether git's
// entry can be removed: the repository may be on a read-only file system.
func (d *deleteRun) canForget() error {
	if d.w.Mode != ModeWorktree || d.aside {
		return nil
	}
	entry, err := git.FindEntry(d.w.GitDir, d.w.Root)
	if err != nil || entry == "" {
		return nil // forget says so
	}
	probe, err := os.CreateTemp(entry, "middleman-*")
	if err != nil {
		return fmt.Errorf("make git forget the worktree: %w", err)
	}
	return errors.Join(probe.Close(), os.Remove(probe.Name()))
}

// forget makes the directory trash, in one step, as what an interrupted delete
// left before that was not looked at a second time, and takes git's entry away.
// A directory that is kept aside keeps what git may have of it.
func (d *deleteRun) forget() error {
	if d.dir != "" && !d.aside {
		// Of an earlier delete, which was interrupted.
		if err := d.removeTrash(); err != nil {
			return err
		}
		if err := d.base.Rename(basedir.DeletingName(d.w.ID), basedir.TrashName(d.w.ID)); err != nil {
			return err
		}
		fault.Here("delete/trashed")
	}
	if d.w.Mode == ModeWorktree && !d.aside {
		if err := d.report.Stage("forget", d.removeEntry); err != nil {
			return err
		}
	}
	fault.Here("delete/forgotten")
	return nil
}

// removeEntry removes git's entry. A repository that is gone has none; only with
// consent does a delete come here then.
func (d *deleteRun) removeEntry() error {
	err := git.RemoveEntry(d.w.GitDir, d.w.Root)
	if d.discard && errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// removeTrash removes what was looked at twice. What a program makes in it
// meanwhile nobody has looked at: it is put where no delete and no prune takes
// it, and that is said.
func (d *deleteRun) removeTrash() error {
	err := basedir.RemoveAll(d.base, basedir.TrashName(d.w.ID))
	if !errors.Is(err, fs.ErrExist) { // of a directory: it is not empty
		return err
	}
	late, lateErr := basedir.MoveLate(d.base, d.w.ID)
	if late == "" {
		return err
	}
	if lateErr == nil {
		d.seen.Loss.Warnings = append(d.seen.Loss.Warnings, "a program wrote into it while it was deleted: what it wrote is in "+plaintext.Quoted(late))
	}
	return lateErr
}

// dropBranch deletes the branch where the look saw it.
func (d *deleteRun) dropBranch(ctx context.Context) error {
	if d.seen.Tip == "" {
		return nil
	}
	return d.report.Detailed("branch", func() (string, error) {
		gone, err := git.Whole(d.w.GitDir).DropBranch(ctx, d.w.Branch, d.seen.Tip)
		if err == nil && !gone {
			return "kept: it moved while the workspace was deleted", nil
		}
		return "", err
	})
}

// PutBack undoes a delete of w that was killed before it had decided: what was
// only moved out of reach is in its place again, as it was. It reports false
// where the delete had looked at it twice and kept what is to be kept: then
// Delete ends it, and nothing but what is kept is left.
func (m *Manager) PutBack(w Workspace) (back bool, err error) {
	if w.Mode == ModeInPlace {
		return true, nil
	}
	base, err := basedir.Holding(m.base, w)
	if err == nil {
		defer base.Close()
		back, err = putBack(base, w)
	}
	if err != nil {
		return false, fmt.Errorf("put workspace %s back: %w", w.Name, err)
	}
	return back, nil
}

func putBack(base *os.Root, w Workspace) (bool, error) {
	dir, err := basedir.Find(base, w)
	if err != nil || dir == "" {
		return false, err
	}
	if dir != w.Root {
		if err := base.Rename(basedir.DeletingName(w.ID), w.ID); err != nil {
			return false, err
		}
	}
	if w.Mode != ModeWorktree {
		return true, nil
	}
	return true, keep.UnlockNested(w.GitDir, w.ID)
}
