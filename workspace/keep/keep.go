package keep

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"middleman/internal/fault"
	"middleman/internal/git"
	"middleman/workspace/basedir"
	"middleman/workspace/look"
	"middleman/workspace/model"
)

// Delete is a delete, as far as it matters for what it is to keep.
type Delete struct {
	Workspace model.Workspace
	Base      *os.Root       // what the directory is in
	Dir       string         // where it is now, called basedir.DeletingName, or ""
	Seen      *look.Findings // of the last look; what is kept of it is noted there
	LookErr   error          // why not all of it was seen, with consent to lose it
	Report    model.Progress
}

// Keep keeps what the delete is about to destroy, so that Restore can bring it
// back: in the repository as a snapshot, or where no repository can hold it the
// directory itself, under another name; aside says that. Where nothing would be
// lost, nothing is kept. An error wraps model.ErrNotKept, or is git's.
func (d Delete) Keep(ctx context.Context) (aside bool, err error) {
	w := d.Workspace
	if _, err := d.Base.Lstat(basedir.KeptName(w.ID)); err == nil && d.Dir == "" {
		d.Seen.Loss.Restorable = true
		return true, nil
	}
	entry := ""
	if w.Mode == model.ModeWorktree {
		entry, err = git.FindEntry(w.GitDir, w.Root)
		if errors.Is(err, fs.ErrNotExist) && d.Dir == "" {
			return false, nil // nothing is left, neither of it nor of its repository
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return false, fmt.Errorf("%w: %w", model.ErrNotKept, err)
		}
	}
	switch {
	case d.Dir != "" && entry == "":
		return d.setAside()
	case w.Mode == model.ModeDirectory:
		return false, nil
	}
	return false, d.keepInRepository(ctx, entry)
}

// setAside keeps the directory as it is. git knows nothing of it, so the
// branch stays as well.
func (d Delete) setAside() (aside bool, err error) {
	if d.LookErr == nil && d.Seen.Loss.Empty() {
		return false, nil
	}
	d.Seen.Tip = ""
	err = d.Report.Detailed("keep", func() (string, error) {
		if err := d.Base.Rename(basedir.DeletingName(d.Workspace.ID), basedir.KeptName(d.Workspace.ID)); err != nil {
			return "", fmt.Errorf("%w: %w", model.ErrNotKept, err)
		}
		aside, d.Seen.Loss.Restorable = true, true
		fault.Here("delete/kept")
		return "the directory itself is kept, as no repository can hold it", nil
	})
	return aside, err
}

// keepInRepository makes a snapshot, where there is anything that nobody else
// has. entry is git's directory for the worktree, or "".
func (d Delete) keepInRepository(ctx context.Context, entry string) error {
	repo := git.Whole(d.Workspace.GitDir)
	if d.Dir == "" { // an interrupted delete has kept it while it was there
		before, err := repo.Ref(ctx, Ref(d.Workspace.ID))
		if err != nil || before != "" {
			d.Seen.Loss.Restorable = before != ""
			return err
		}
	}
	chosen, err := chooseIgnored(d.Dir, *d.Seen, false)
	if err != nil {
		return fmt.Errorf("%w: %w", model.ErrNotKept, err)
	}
	d.Seen.Loss.Unkept = chosen.unkept
	blind := d.LookErr != nil && !errors.Is(d.LookErr, model.ErrMissing)
	if !blind && !worthKeeping(d.Workspace, *d.Seen, chosen) {
		return nil
	}
	k := &snapshotWriter{w: d.Workspace, repo: repo, entry: entry, dir: d.Dir, chosen: chosen, blind: blind, objects: map[string]string{}}
	err = d.Report.Advancing("keep", func(tell func(string)) (string, error) {
		if err := lockNested(d.Seen.Nested, d.Workspace.ID); err != nil {
			return "", err
		}
		k.tell = tell
		return "", k.run(ctx)
	})
	if err != nil {
		return fmt.Errorf("%w: %w", model.ErrNotKept, err)
	}
	d.Seen.Loss.Restorable, d.Seen.Loss.Unkept = true, k.snap.Unkept
	fault.Here("delete/kept")
	return nil
}

// worthKeeping reports whether there is anything that nobody else has.
func worthKeeping(w model.Workspace, seen look.Findings, chosen choice) bool {
	return !seen.Loss.Empty() || len(seen.Loss.Abandoned) > 0 || chosen.any && !w.Ephemeral
}

// Forecast is the loss that was seen of w, whose directory is at dir or nowhere,
// with what a delete would keep of it.
func Forecast(w model.Workspace, dir string, seen look.Findings) (model.Loss, error) {
	loss := seen.Loss
	chosen, err := chooseIgnored(dir, seen, true)
	if err != nil {
		return loss, fmt.Errorf("%w: %w", model.ErrUnknown, err)
	}
	loss.Unkept, loss.Restorable = chosen.unkept, worthKeeping(w, seen, chosen)
	return loss, nil
}
