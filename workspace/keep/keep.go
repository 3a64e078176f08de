package keep

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"

	"middleman/internal/fault"
	"middleman/internal/git"
	"middleman/workspace/basedir"
	"middleman/workspace/look"
	"middleman/workspace/model"
)

// Delete describes the delete for which Keep works.
type Delete struct {
	Workspace model.Workspace
	Base      *os.Root       // holds the directory, see basedir.Holding
	Dir       string         // the directory, named basedir.DeletingName by now, or ""
	Seen      *look.Findings // the last inspection; Keep adds to its Loss
	LookErr   error          // why the inspection is incomplete; without consent at most ErrMissing
	Report    model.Progress
}

// Keep keeps what the delete will destroy, so that Restore can bring it back.
// It makes a snapshot in the repository. If no repository can hold it, it keeps
// the directory itself under another name, and aside is true. If nothing would
// be lost it keeps nothing. An error wraps model.ErrNotKept, or is git's.
func (d Delete) Keep(ctx context.Context) (aside bool, err error) {
	w := d.Workspace
	if _, err := d.Base.Lstat(basedir.KeptName(w.ID)); err == nil && d.Dir == "" {
		d.Seen.Tip = "" // as in setAside: an earlier delete did the rest of that
		d.Seen.Loss.Restorable = true
		return true, nil
	}
	entry := ""
	if w.Mode == model.ModeWorktree {
		entry, err = git.FindEntry(w.GitDir, w.ID, w.Root)
		if errors.Is(err, fs.ErrNotExist) && d.Dir == "" {
			return false, nil // directory and repository are both gone
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return false, notKept(err)
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

// setAside keeps the directory as it is. git does not know it, so the branch
// stays too.
func (d Delete) setAside() (aside bool, err error) {
	if d.LookErr == nil && d.Seen.Loss.Empty() {
		return false, nil
	}
	d.Seen.Tip = ""
	err = d.Report.Detailed("keep", func() (string, error) {
		if err := d.Base.Rename(basedir.DeletingName(d.Workspace.ID), basedir.KeptName(d.Workspace.ID)); err != nil {
			return "", notKept(err)
		}
		aside, d.Seen.Loss.Restorable = true, true
		fault.Here("delete/kept")
		return "the directory itself is kept, as no repository can hold it", nil
	})
	return aside, err
}

// keepInRepository makes a snapshot if the workspace holds anything that exists
// nowhere else. entry is git's directory for the worktree, or "".
func (d Delete) keepInRepository(ctx context.Context, entry string) error {
	repo := git.Whole(d.Workspace.GitDir)
	if d.Dir == "" { // an interrupted delete may have made the snapshot
		before, err := repo.Ref(ctx, Ref(d.Workspace.ID))
		if err != nil || before != "" {
			d.Seen.Loss.Restorable = before != ""
			return err
		}
	}
	chosen, err := chooseIgnored(d.Dir, *d.Seen, false)
	if err != nil {
		return notKept(err)
	}
	d.Seen.Loss.Unkept = chosen.unkept
	blind := d.LookErr != nil && !errors.Is(d.LookErr, model.ErrMissing)
	if !blind && !worthKeeping(d.Workspace, *d.Seen, chosen) {
		d.Seen.Loss.Unkept, err = unkept(d.Dir, chosen)
		return err
	}
	k := newSnapshotWriter(d.Workspace, entry, d.Dir, chosen)
	k.blind = blind
	err = d.Report.Advancing("keep", func(tell func(string)) (string, error) {
		if err := lockNested(d.Seen.Nested, d.Workspace.ID); err != nil {
			return "", err
		}
		k.tell = tell
		return "", k.run(ctx)
	})
	if err != nil {
		return notKept(err)
	}
	d.Seen.Loss.Restorable, d.Seen.Loss.Unkept = true, k.snap.Unkept
	fault.Here("delete/kept")
	return nil
}

// unkept is model.Loss.Unkept of a delete that keeps no snapshot of the directory dir, which
// can be "": of sockets and the like git tells nothing.
func unkept(dir string, chosen choice) ([]string, error) {
	if dir == "" {
		return chosen.unkept, nil
	}
	odd, err := listOdd(dir, chosen.verdict)
	if err != nil {
		return nil, fmt.Errorf("look for what is not kept: %w", notKept(err))
	}
	return append(chosen.unkept, odd...), nil
}

// worthKeeping reports whether the workspace holds anything worth a snapshot.
func worthKeeping(w model.Workspace, seen look.Findings, chosen choice) bool {
	return !seen.Loss.Empty() || len(seen.Loss.Abandoned)+len(seen.Loss.Merged) > 0 || chosen.any && !w.Ephemeral
}

// Forecast returns seen.Loss of w, whose directory is at dir or missing (""),
// and adds what a delete would and would not keep. An error that wraps
// model.ErrNotKept says that a delete would be refused even with consent.
func Forecast(w model.Workspace, dir string, seen look.Findings) (model.Loss, error) {
	loss := seen.Loss
	chosen, err := chooseIgnored(dir, seen, true)
	if err != nil {
		return loss, notKept(err)
	}
	addLarge(&loss, w, chosen)
	loss.Unkept, loss.Restorable = chosen.unkept, worthKeeping(w, seen, chosen)
	switch {
	case w.Mode != model.ModeWorktree || dir == "":
		return loss, nil
	case !loss.Restorable:
		loss.Unkept, err = unkept(dir, chosen)
		return loss, err
	}
	entry, err := git.FindEntry(w.GitDir, w.ID, w.Root)
	if err != nil {
		return loss, model.Unknown(err)
	}
	if entry == "" {
		return loss, nil // a delete would keep the directory itself
	}
	k := newSnapshotWriter(w, entry, dir, chosen)
	if err := k.list(); err != nil {
		return loss, notKept(err)
	}
	loss.Unkept = k.snap.Unkept
	return loss, nil
}

// FindLarge adds to seen.Loss of w, whose directory is at dir, the ignored files that are a
// reason to refuse a delete. Its error wraps model.ErrNotKept.
func FindLarge(w model.Workspace, dir string, seen *look.Findings) error {
	chosen, err := chooseIgnored(dir, *seen, false)
	if err != nil {
		return notKept(err)
	}
	addLarge(&seen.Loss, w, chosen)
	return nil
}

// addLarge moves from loss.Ignored to loss.Large what is large in chosen.
func addLarge(loss *model.Loss, w model.Workspace, chosen choice) {
	if w.Ephemeral {
		return // what its programs leave in ignored files is not for keeping
	}
	for _, name := range slices.Sorted(maps.Keys(chosen.large)) {
		if len(loss.Large) == model.MaxListed {
			loss.Truncated = true
			break
		}
		loss.Large = append(loss.Large, name+" ("+chosen.large[name]+")")
	}
	loss.Ignored = slices.DeleteFunc(slices.Clone(loss.Ignored), func(name string) bool {
		_, is := chosen.large[name]
		return is
	})
}

// Unreadable returns err, the error of inspecting w, whose directory is at dir. If a
// delete could not read what it had to keep, it adds what: then a delete would fail even
// with consent.
func Unreadable(w model.Workspace, dir string, seen look.Findings, err error) error {
	if w.Mode != model.ModeWorktree || dir == "" || errors.Is(err, model.ErrNotKept) {
		return err
	}
	entry, entryErr := git.FindEntry(w.GitDir, w.ID, w.Root)
	if entryErr != nil || entry == "" {
		return err // a delete would keep the directory itself
	}
	chosen, why := chooseIgnored(dir, seen, false)
	if why == nil {
		why = newSnapshotWriter(w, entry, dir, chosen).list()
	}
	if !errors.Is(why, errUnreadable) {
		return err
	}
	return fmt.Errorf("%w (and %w: %w)", err, model.ErrNotKept, why)
}

// notKept returns err as a model.ErrNotKept.
func notKept(err error) error { return fmt.Errorf("%w: %w", model.ErrNotKept, err) }
