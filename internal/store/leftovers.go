package store

import (
	"context"
	"fmt"
)

// AddDeleted stores a deleted workspace that has no workspace row. If it is
// stored already, AddDeleted changes nothing.
func (s *Store) AddDeleted(ctx context.Context, d Deleted) error {
	values := append([]any{d.ID, d.Name}, details(d.Workspace)...)
	_, err := s.write.ExecContext(ctx, `INSERT INTO deleted_workspaces (`+deletedColumns+`, deleted_at)
		VALUES (`+marks(deletedColumns)+`, ?) ON CONFLICT DO NOTHING`, append(values, d.DeletedAt.UnixNano())...)
	if err != nil {
		return fmt.Errorf("store deleted workspace %s: %w", d.ID, err)
	}
	return nil
}

// UpdateDeleted replaces the record of a deleted workspace, except for its id and
// the time of its deletion, or returns ErrNotFound.
func (s *Store) UpdateDeleted(ctx context.Context, d Deleted) error {
	values := append([]any{d.ID, d.Name}, details(d.Workspace)...)
	r, err := s.write.ExecContext(ctx,
		`UPDATE deleted_workspaces SET (`+deletedColumns+`) = (`+marks(deletedColumns)+`) WHERE id = ?`, append(values, d.ID)...)
	if err = mustChange(r, err); err != nil {
		return fmt.Errorf("store deleted workspace %s: %w", d.ID, err)
	}
	return nil
}

// ForgetDeleted removes the record of a deleted workspace, or returns
// ErrNotFound.
func (s *Store) ForgetDeleted(ctx context.Context, id string) error {
	r, err := s.write.ExecContext(ctx, `DELETE FROM deleted_workspaces WHERE id = ?`, id)
	if err = mustChange(r, err); err != nil {
		return fmt.Errorf("forget deleted workspace %s: %w", id, err)
	}
	return nil
}
