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
	"middleman/internal/private"
	"middleman/workspace/basedir"
	"middleman/workspace/keep"
	"middleman/workspace/look"
	"middleman/workspace/model"
)

// Delete deletes w and returns what was lost with it. It inspects w first.
// Without discard it refuses with a *WorkError if work would be lost, and with
// an error that wraps ErrUnknown if it cannot find out. Then it moves the
// directory away and inspects it again before it deletes anything. What would
// be lost it first keeps for Restore; if that fails the error wraps ErrNotKept.
// Up to here an error leaves everything unchanged.
//
// Delete also completes a delete that was interrupted, or whose directory is
// gone. It changes nothing of an in-place workspace, whose directory is the
// user's, and refuses as above because of its private git directory alone (see
// Private). No program may run in w any more.
//
// Delete also removes the branch if it was made for w, is checked out nowhere
// else, and still at the commit that was inspected. Otherwise the branch stays.
func (m *Manager) Delete(ctx context.Context, w Workspace, discard bool, progress Progress) (Loss, error) {
	if w.Mode == ModeInPlace {
		return m.leave(ctx, w, discard)
	}
	return m.delete(ctx, &deleteRun{w: w, discard: discard, report: progress.OrSilent()})
}

// DeleteInspected is Delete for a caller that has just called Inspect and has
// consent for what that found. It inspects w only after it has moved the
// directory away. If it then refuses, the directory was away for that long.
func (m *Manager) DeleteInspected(ctx context.Context, w Workspace, discard bool, progress Progress) (Loss, error) {
	if w.Mode == ModeInPlace {
		return m.leave(ctx, w, discard)
	}
	return m.delete(ctx, &deleteRun{w: w, discard: discard, inspected: true, report: progress.OrSilent()})
}

// leave is Delete for an in-place workspace.
func (m *Manager) leave(ctx context.Context, w Workspace, discard bool) (Loss, error) {
	loss, err := m.held(ctx, w)
	loss.Restorable = loss.Sandboxed
	switch {
	case discard && ctx.Err() == nil:
		return loss, nil
	case err != nil:
		return loss, fmt.Errorf("delete workspace %s: %w", w.Name, err)
	case !loss.Empty():
		return loss, &WorkError{Name: w.Name, Loss: loss}
	}
	return loss, nil
}

// deleteVanished is Delete for a workspace without a record, or one that was
// never completed. A missing directory does not stop it.
func (m *Manager) deleteVanished(ctx context.Context, w Workspace, discard bool) (Loss, error) {
	return m.delete(ctx, &deleteRun{w: w, discard: discard, vanished: true, report: Progress(nil).OrSilent()})
}

// delete opens the base for a run, and names the workspace in its error.
func (m *Manager) delete(ctx context.Context, d *deleteRun) (Loss, error) {
	base, err := basedir.HoldingMade(m.base, d.w)
	if err == nil {
		defer base.Close() // and the group goes with its last workspace
		d.base, d.ours, d.deletes, d.held = base.Root, m.ownsBranch(d.w), m.deletes, m.held
		err = contain.Call(func() error { return d.run(ctx) })
	}
	if _, refused := errors.AsType[*WorkError](err); err != nil && !refused {
		err = fmt.Errorf("delete workspace %s: %w", d.w.Name, err)
	}
	return d.seen.Loss, err
}

// deleteRun is one run of Delete. Its methods are in the order of their calls.
type deleteRun struct {
	w         Workspace
	base      *os.Root // holds the directory, and what the delete makes of it
	deletes   *turns   // of deletes in the same repository
	ours      bool     // we may delete the branch of w
	discard   bool
	vanished  bool // a missing directory does not stop the delete
	inspected bool // by the caller, just now
	report    Progress
	held      func(context.Context, Workspace) (Loss, error) // Manager.held

	dir     string // the directory's current path, or ""
	seen    look.Findings
	lookErr error // why the inspection is incomplete; without discard at most ErrMissing
	aside   bool  // the directory itself was kept, under another name
}

// run does all steps of a delete. After an error before forget the directory is
// back in its place, and nothing has changed.
func (d *deleteRun) run(ctx context.Context) error {
	if err := d.report.Stage("look", func() error { return d.find(ctx) }); err != nil {
		return err
	}
	done, err := d.takeTurn(ctx)
	if err != nil {
		return err
	}
	defer done()
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
	if err := d.report.Stage("remove", func() error { d.removeTrash(); return nil }); err != nil {
		return err
	}
	return d.dropBranch(ctx)
}

// takeTurn waits for other deletes in the repository, of this server and of others. The
// caller calls done when the delete is over.
func (d *deleteRun) takeTurn(ctx context.Context) (done func(), err error) {
	if d.w.GitDir == "" {
		return func() {}, nil
	}
	over, err := d.deletes.take(ctx, d.w.GitDir)
	if err != nil {
		return nil, err
	}
	held, err := git.HoldDeletes(ctx, d.w.GitDir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // the repository may be gone
		over()
		return nil, err
	}
	return func() {
		held.Close() // closing nil only returns an error
		over()
	}, nil
}

// find finds the directory and inspects it for the first time, unless the caller
// has. It always inspects what is left if the directory is gone.
func (d *deleteRun) find(ctx context.Context) (err error) {
	d.dir, err = basedir.Find(d.base, d.w)
	if err != nil || d.inspected && d.dir != "" {
		return err
	}
	return d.look(ctx)
}

// look inspects the directory, and returns an error if the delete must stop.
func (d *deleteRun) look(ctx context.Context) error {
	seen, err := look.ForDelete(ctx, d.w, d.dir, d.ours)
	if err == nil && !d.discard && d.dir != "" {
		err = keep.FindLarge(d.w, d.dir, &seen)
	}
	private, unknown := d.held(ctx, d.w)
	if d.dir != "" || !d.decided() { // else an earlier delete has kept what there is
		seen.Loss, err = seen.Loss.WithSandbox(private), errors.Join(err, unknown)
	}
	seen.Loss.Sandboxed = private.Sandboxed
	d.seen, d.lookErr = seen, err
	switch {
	case d.discard && ctx.Err() == nil:
		return nil
	case errors.Is(err, ErrMissing) && seen.Loss.Empty() && (d.vanished || d.decided() || !errors.Is(err, ErrUnknown)):
		return nil
	case !seen.Loss.Empty():
		return &WorkError{Name: d.w.Name, Loss: seen.Loss}
	case err != nil && !errors.Is(err, ErrUnknown):
		return model.Unknown(err)
	}
	return err
}

// decided reports whether an earlier delete inspected the directory twice.
func (d *deleteRun) decided() bool {
	for _, name := range []string{basedir.TrashName(d.w.ID), basedir.KeptName(d.w.ID)} {
		if _, err := d.base.Lstat(name); err == nil {
			return true
		}
	}
	return false
}

// move renames the directory, so that no program reaches it by its path, and
// inspects it again. If the delete must stop it puts the directory back.
func (d *deleteRun) move(ctx context.Context) error {
	moved := basedir.DeletingName(d.w.ID)
	if d.dir == d.w.Root {
		if err := d.base.Rename(basedir.Name(d.w), moved); err != nil {
			return fmt.Errorf("move directory away: %w", private.WhoHolds(err, d.w.Root))
		}
	}
	d.dir = filepath.Join(d.base.Name(), moved)
	fault.Here("delete/moved")
	if err := d.look(ctx); err != nil {
		return d.putBack(err)
	}
	return nil
}

// putBack puts the directory back because of err, and returns err.
func (d *deleteRun) putBack(err error) error {
	moved := basedir.DeletingName(d.w.ID)
	back := d.base.Rename(moved, basedir.Name(d.w))
	if back != nil && !errors.Is(back, fs.ErrNotExist) {
		return fmt.Errorf("%w (it is now %s: %w)", err, filepath.Join(d.base.Name(), moved), back)
	}
	return err
}

// keep keeps what the delete will destroy, so that Restore can bring it back,
// and checks that the remaining steps can succeed.
func (d *deleteRun) keep(ctx context.Context) (err error) {
	kept := keep.Delete{Workspace: d.w, Base: d.base, Dir: d.dir, Seen: &d.seen, LookErr: d.lookErr, Report: d.report}
	if d.aside, err = kept.Keep(ctx); err != nil {
		return err
	}
	if d.dir != "" && !d.aside {
		if err := d.clearTrash(); err != nil {
			return err
		}
	}
	return d.canForget()
}

// canForget checks whether git's entry can be removed, while the directory can
// still be put back: the repository may be on a read-only file system.
func (d *deleteRun) canForget() error {
	if d.w.Mode != ModeWorktree || d.aside {
		return nil
	}
	entry, err := git.FindEntry(d.w.GitDir, d.w.ID, d.w.Root)
	if err != nil || entry == "" {
		return nil // forget reports the error
	}
	probe, err := os.CreateTemp(entry, "middleman-*")
	if err != nil {
		return fmt.Errorf("make git forget the worktree: %w", err)
	}
	return errors.Join(probe.Close(), os.Remove(probe.Name()))
}

// forget renames the directory to its trash name in one step, and removes git's
// entry. If the directory itself was kept, git's entry stays too.
func (d *deleteRun) forget() error {
	if d.dir != "" && !d.aside {
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

// removeEntry removes git's entry. With discard the repository may be gone, and
// the entry with it.
func (d *deleteRun) removeEntry() error {
	err := git.RemoveEntry(d.w.GitDir, d.w.ID, d.w.Root)
	if d.discard && errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// clearTrash makes room for the trash of this delete: it removes what an earlier one left,
// or gives it a name that no delete and no prune takes.
func (d *deleteRun) clearTrash() error {
	err := basedir.RemoveAll(d.base, basedir.TrashName(d.w.ID))
	if err == nil {
		return nil
	}
	if late, lateErr := basedir.MoveLate(d.base, d.w.ID); late != "" {
		return lateErr
	}
	return err
}

// removeTrash removes the directory that was inspected twice. The delete is decided, so
// what cannot be removed is no error of it: a warning says where it is. If a program
// writes into the directory meanwhile, the rest gets a name that no delete and no prune
// takes.
func (d *deleteRun) removeTrash() {
	name := basedir.TrashName(d.w.ID)
	err := basedir.RemoveAll(d.base, name)
	if err == nil {
		return
	}
	if errors.Is(err, fs.ErrExist) { // it stands for ENOTEMPTY here
		if late, lateErr := basedir.MoveLate(d.base, d.w.ID); lateErr == nil && late != "" {
			d.warn("a program wrote into the workspace while it was deleted: what it wrote is in " + plaintext.Quoted(late))
			return
		}
	}
	path := filepath.Join(d.base.Name(), name)
	d.warn(fmt.Sprintf("not all of it could be removed: %v; the rest is %s, and `middleman prune` removes it once it can be", private.WhoHolds(err, path), plaintext.Quoted(path)))
}

func (d *deleteRun) warn(text string) {
	d.seen.Loss.Warnings = append(d.seen.Loss.Warnings, text)
}

// dropBranch deletes the branch if it is still at the commit that was
// inspected.
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

// PutBack undoes a delete of w that was killed before it was decided: it moves
// the directory back to its place, unchanged. It returns false if the delete
// had inspected the directory twice. Then the caller calls Delete to complete
// it.
func (m *Manager) PutBack(w Workspace) (back bool, err error) {
	if w.Mode == ModeInPlace {
		return true, nil
	}
	base, err := basedir.Holding(m.base, w)
	if errors.Is(err, basedir.ErrNoGroup) {
		return false, nil
	}
	if err == nil {
		defer base.Close()
		back, err = putBack(base.Root, w)
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
		if err := base.Rename(basedir.DeletingName(w.ID), basedir.Name(w)); err != nil {
			return false, err
		}
	}
	if w.Mode != ModeWorktree {
		return true, nil
	}
	return true, errors.Join(keep.UnlockNested(w.GitDir, w.ID), git.Whole(w.GitDir).DropStage(w.ID))
}
