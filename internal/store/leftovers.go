package store

import (
	"context"
	"database/sql"
	"fmt"

	"middleman/workspace"
)

// AddDeleted stores a deleted workspace that has no workspace row. If it is
// stored already, AddDeleted changes nothing.
func (s *Store) AddDeleted(ctx context.Context, d Deleted) error {
	_, err := s.write.ExecContext(ctx, `INSERT INTO deleted_workspaces (`+deletedColumns+`, deleted_at)
		VALUES (`+marks(deletedColumns)+`, ?) ON CONFLICT DO NOTHING`, append(d.values(), d.DeletedAt.UnixNano())...)
	if err != nil {
		return fmt.Errorf("store deleted workspace %s: %w", d.ID, err)
	}
	return nil
}

// UpdateDeleted replaces the record of a deleted workspace, except for its id and
// the time of its deletion, or returns ErrNotFound.
func (s *Store) UpdateDeleted(ctx context.Context, d Deleted) error {
	r, err := s.write.ExecContext(ctx,
		`UPDATE deleted_workspaces SET (`+deletedColumns+`) = (`+marks(deletedColumns)+`) WHERE id = ?`, append(d.values(), d.ID)...)
	if err = mustChange(r, err); err != nil {
		return fmt.Errorf("store deleted workspace %s: %w", d.ID, err)
	}
	return nil
}

// ForgetDeleted records that a deleted workspace cannot be restored any more. The
// record goes, unless there are transcripts of its sessions. If there is no such
// deleted workspace, the error is ErrNotFound.
func (s *Store) ForgetDeleted(ctx context.Context, id string) error {
	err := s.inTransaction(ctx, func(tx *sql.Tx) error {
		r, err := tx.ExecContext(ctx, `UPDATE deleted_workspaces SET restore_from = ?, tip = '' WHERE id = ?`, string(workspace.FromNothing), id)
		if err = mustChange(r, err); err != nil {
			return err
		}
		return dropEmpty(ctx, tx, id)
	})
	if err != nil {
		return fmt.Errorf("forget deleted workspace %s: %w", id, err)
	}
	return nil
}

// dropEmpty removes the record of a deleted workspace that has neither a
// snapshot nor a transcript.
func dropEmpty(ctx context.Context, tx *sql.Tx, id string) error {
	_, err := tx.ExecContext(ctx, `DELETE FROM deleted_workspaces WHERE id = ? AND restore_from <> ?
		AND NOT EXISTS (SELECT 1 FROM deleted_sessions WHERE workspace_id = ?)`, id, string(workspace.FromSnapshot), id)
	return err
}
