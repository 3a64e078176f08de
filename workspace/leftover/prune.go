package leftover

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"middleman/internal/fault"
	"middleman/internal/git"
	"middleman/internal/plaintext"
	"middleman/internal/private"
	"middleman/workspace/basedir"
	"middleman/workspace/model"
)

// ErrNotLeft: a leftover is gone, or may not be removed any more.
var ErrNotLeft = errors.New("it is not a leftover any more")

// ErrStays: a leftover could not be removed, or not all of it.
var ErrStays = errors.New("it could not be removed")

// Prune removes one result of Leftovers, if it may still be removed by what
// exists and is recorded now. It returns the workspace that was in it, and what
// its deletion lost: if Loss is Restorable a restore brings it back. It never
// touches a creation or restore in progress. If git cannot answer, nothing is
// removed.
func (f Finder) Prune(ctx context.Context, l Leftover, recorded Recorded) (model.Workspace, model.Loss, error) {
	found, err := f.survey(ctx, recorded, func(now Leftover) bool {
		return now.Kind == l.Kind && now.What == l.What && now.gitDir == l.gitDir
	})
	if err != nil {
		return model.Workspace{}, model.Loss{}, err
	}
	if len(found) != 1 || !found[0].Prunable {
		err := ErrNotLeft
		for _, now := range found {
			err = fmt.Errorf("%s: %w", now.Why, ErrNotLeft)
		}
		return model.Workspace{}, model.Loss{}, fmt.Errorf("prune %s: %w", plaintext.Quoted(l.What), err)
	}
	fault.Here("prune/judged")
	w, loss, err := f.prune(ctx, found[0])
	if err != nil {
		return model.Workspace{}, model.Loss{}, fmt.Errorf("prune %s: %w", plaintext.Quoted(l.What), err)
	}
	fault.Here("prune/removed")
	return w, loss, nil
}

// prune removes a leftover that was just judged prunable.
func (f Finder) prune(ctx context.Context, l Leftover) (w model.Workspace, loss model.Loss, err error) {
	if l.Kind == KindBranch {
		gone, err := git.Whole(l.gitDir).DropBranch(ctx, l.What, l.object)
		if err == nil && !gone {
			err = fmt.Errorf("the branch moved: %w", ErrNotLeft)
		}
		return w, loss, err
	}
	if l.Kind == KindRestoring && l.gitDir != "" {
		return w, loss, os.RemoveAll(l.What)
	}
	if l.Kind == KindTrash && l.gitDir != "" {
		return w, loss, git.Whole(l.gitDir).DropStage(l.ID)
	}
	if l.Kind == KindEntry {
		if w, err = f.goneWorkspace(ctx, l); err == nil {
			loss, err = f.Vanish(ctx, w)
		}
		return w, loss, err
	}
	in, err := basedir.OpenAt(f.Base, filepath.Dir(l.What))
	if err != nil {
		return w, loss, err
	}
	defer in.Close()
	name := filepath.Base(l.What)
	switch l.Kind {
	case KindTrash, KindRestoring:
		if kind, _ := kindOf(name); kind == KindDirectory {
			return w, loss, basedir.RemoveEmpty(in.Root, name)
		}
		if err = basedir.RemoveAll(in.Root, name); err != nil {
			err = fmt.Errorf("%w: %w", ErrStays, private.WhoHolds(err, l.What))
		}
		return w, loss, err
	case KindDirectory, KindDeleting:
		w, err = f.identify(ctx, &listed{root: in.Root, group: in.IsGroup()}, name)
	default:
		err = fmt.Errorf("a %s: %w", l.Kind, errors.ErrUnsupported)
	}
	if err != nil {
		return w, loss, err
	}
	// Delete inspects once more, and keeps what is worth keeping.
	loss, err = f.Delete(ctx, w)
	return w, loss, err
}
