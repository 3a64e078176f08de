package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"middleman/workspace"
)

// Deleted is a workspace that a restore can bring back.
type Deleted struct {
	workspace.Workspace // in StateDeleted
	DeletedAt           time.Time
}

const deletedColumns = `id, name, ` + detailColumns

// KeepDeleted turns a workspace into a deleted one, which keeps its record but
// gets that name. The workspace's name becomes free, and its stages and sessions
// are deleted. If there is no such workspace, the error is ErrNotFound.
func (s *Store) KeepDeleted(ctx context.Context, id, name string, at time.Time) error {
	err := s.inTransaction(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO deleted_workspaces (`+deletedColumns+`, deleted_at)
			SELECT id, ?, `+detailColumns+`, ? FROM workspaces WHERE id = ?`, name, at.UnixNano(), id)
		if err != nil {
			return err
		}
		r, err := tx.ExecContext(ctx, `DELETE FROM workspaces WHERE id = ?`, id)
		return mustChange(r, err)
	})
	if err != nil {
		return fmt.Errorf("keep workspace %s in the store as deleted: %w", id, err)
	}
	return nil
}

// ReviveDeleted turns a deleted workspace into a workspace with that name, in
// StateRestoring. The error is ErrNameTaken if the name is taken, and ErrNotFound
// if no deleted workspace has that id.
func (s *Store) ReviveDeleted(ctx context.Context, id, name string) error {
	err := s.inTransaction(ctx, func(tx *sql.Tx) error {
		r, err := tx.ExecContext(ctx, `INSERT INTO workspaces (`+workspaceColumns+`)
			SELECT id, ?, `+detailColumns+`, ?, '' FROM deleted_workspaces WHERE id = ?`, name, string(workspace.StateRestoring), id)
		if err = mustChange(r, err); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `DELETE FROM deleted_workspaces WHERE id = ?`, id)
		return err
	})
	if isUnique(err) {
		err = ErrNameTaken
	}
	if err != nil {
		return fmt.Errorf("revive workspace %s in the store: %w", id, err)
	}
	return nil
}

func (s *Store) inTransaction(ctx context.Context, do func(*sql.Tx) error) error {
	tx, err := s.write.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := do(tx); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

// DeletedWorkspace returns the deleted workspace with that id, or ErrNotFound.
func (s *Store) DeletedWorkspace(ctx context.Context, id string) (Deleted, error) {
	d, err := scanDeleted(s.read.QueryRowContext(ctx, `SELECT `+deletedColumns+`, deleted_at FROM deleted_workspaces WHERE id = ?`, id))
	if err != nil {
		return Deleted{}, fmt.Errorf("read deleted workspace %s: %w", id, notFound(err))
	}
	return d, nil
}

// DeletedWorkspaces returns a page of the deleted workspaces, in the order of
// their deletion. next is the cursor of the next page, "" at the end.
func (s *Store) DeletedWorkspaces(ctx context.Context, p Page) (list []Deleted, next string, err error) {
	at, id, err := p.after()
	if err != nil {
		return nil, "", err
	}
	list, err = collect(ctx, s.read, scanDeleted, `SELECT `+deletedColumns+`, deleted_at FROM deleted_workspaces
		WHERE `+plainID+` AND (deleted_at, id) > (?, ?) ORDER BY deleted_at, id LIMIT ?`, at, id, p.sqlLimit())
	if err != nil {
		return nil, "", fmt.Errorf("list deleted workspaces: %w", err)
	}
	list, next = cut(list, p, func(x Deleted) string { return cursorAt(x.DeletedAt, x.ID) })
	return list, next, nil
}

func scanDeleted(row scanner) (Deleted, error) {
	var d Deleted
	var created, deleted int64
	err := row.Scan(slices.Concat([]any{&d.ID, &d.Name}, scanDetails(&d.Workspace, &created), []any{&deleted})...)
	d.State, d.CreatedAt, d.DeletedAt = workspace.StateDeleted, fromNano(created), fromNano(deleted)
	return d, err
}
