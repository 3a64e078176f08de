package workspace

import (
	"context"
	"errors"
)

// Ephemeral makes the workspace that r asks for, hands it to use, and deletes
// it when use has returned or panicked, also where ctx has ended by then. One
// that holds work stays, and the error then is, or is joined with, a
// *WorkError, or wraps ErrUnknown where that could not be found out: what was
// handed to use is the record to inspect, delete or restore it with. An error
// of use comes back as it is. What git ignores in it is not work.
//
// No program that use started may run in it when use returns. A process that
// is killed meanwhile leaves the workspace as it is; Delete ends that too.
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
