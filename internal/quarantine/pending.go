package quarantine

import (
	"context"
	"errors"
	"fmt"
	"os"

	"middleman/internal/git"
	"middleman/internal/plaintext"
	"middleman/internal/private"
)

// ToImport reports whether an Import has anything to do: to bring what is Pending, or to
// look whether a program has replaced the .git of a submodule. It starts no program.
func (q *Quarantine) ToImport(ctx context.Context) (bool, error) {
	r, pending, err := q.pending(ctx)
	return pending || len(r.Submodules) > 0, err
}

// Pending reports whether the private directory may hold something that the repository
// has not: it has changed since the last Import that brought everything over. It starts
// no program. An error proves nothing.
func (q *Quarantine) Pending(ctx context.Context) (bool, error) {
	_, pending, err := q.pending(ctx)
	return pending, err
}

// pending is Pending with the record, which is empty without a private directory.
func (q *Quarantine) pending(ctx context.Context) (r record, pending bool, err error) {
	there, err := q.exists()
	if err != nil || !there {
		return r, false, err
	}
	if r, err = q.load(); err != nil {
		return r, false, err
	}
	seen, err := seenAt(q.path(GitDirectory))
	if err != nil {
		return r, false, fmt.Errorf("look at what the sandbox of workspace %s holds: %w", plaintext.Quoted(q.w.Name), err)
	}
	return r, seen == "" || seen != r.Seen, ctx.Err()
}

// Remove removes the private directory. It returns an ErrPending if something in it was
// not imported, unless discard says that this may be lost. No sandboxed session of the
// workspace may run. The refs below RefsOf stay, but for the one that kept what the
// sandbox was based on.
func (q *Quarantine) Remove(ctx context.Context, discard bool) error {
	if _, err := os.Lstat(q.dir); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	lock, err := q.lock(ctx)
	if err != nil {
		return err
	}
	defer lock.Close()
	if !discard {
		pending, err := q.Pending(ctx)
		if err != nil {
			return err
		}
		if pending {
			return fmt.Errorf("workspace %s: %w: import it first, or discard it", plaintext.Quoted(q.w.Name), ErrPending)
		}
	}
	if _, err := os.Lstat(q.w.GitDir); err == nil {
		p := git.Whole(q.w.GitDir)
		base, err := p.Ref(ctx, baseRef(q.w.ID))
		if err == nil && base != "" {
			_, err = p.Alter("update-ref", "--no-deref", "-d", baseRef(q.w.ID), base).Run(ctx)
		}
		if err != nil {
			return err
		}
	}
	return private.RemoveTree(q.dir)
}
