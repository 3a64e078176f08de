package workspace

import (
	"context"
	"errors"
)

// Ephemeral makes the workspace that r asks for, calls use with it, and deletes
// it when use returns or panics, even if ctx has ended. A workspace that holds
// work stays. Then the error is, or is joined with, a *WorkError, or wraps
// ErrUnknown if that could not be found out. The caller inspects, deletes or
// restores it with the record that use got. An error of use is returned
// unchanged. Files that git ignores are not work.
//
// When use returns, no program that it started may run in the workspace. If
// this process is killed the workspace stays; Delete removes it later.
func (m *Manager) Ephemeral(ctx context.Context, r CreateRequest, use func(context.Context, Workspace) error) (err error) {
	r.Ephemeral = true
	w, err := m.Create(ctx, r, nil)
	if err != nil {
		return err
	}
	defer func() {
		_, kept := m.Delete(context.WithoutCancel(ctx), w, false, nil)
		if kept != nil {
			err = errors.Join(err, kept)
		}
	}()
	return use(ctx, w)
}
