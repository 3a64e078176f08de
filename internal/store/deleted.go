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

// Deleted is a deleted workspace that a restore can bring back, or of whose
// sessions transcripts are kept.
type Deleted struct {
	workspace.Workspace // in StateDeleted
	DeletedAt           time.Time
}

const deletedColumns = `id, name, ` + detailColumns

// KeepDeleted turns the workspace with d's id into d, a deleted one. Its name
// becomes free, and its stages are deleted. Its sessions become transcripts if
// transcripts has their ids, with the bytes that each takes on disk; the others
// are deleted. Tokens for its sessions end. If there is no such workspace, the
// error is ErrNotFound.
func (s *Store) KeepDeleted(ctx context.Context, d Deleted, transcripts map[string]int64) error {
	err := s.inTransaction(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO deleted_workspaces (`+deletedColumns+`, deleted_at)
			VALUES (`+marks(deletedColumns)+`, ?)`, append(d.values(), d.DeletedAt.UnixNano())...)
		if err != nil {
			return err
		}
		for id, bytes := range transcripts {
			_, err := tx.ExecContext(ctx, `INSERT INTO deleted_sessions (`+sessionColumns+`, bytes)
				SELECT `+sessionColumns+`, ? FROM sessions WHERE id = ? AND workspace_id = ?`, bytes, id, d.ID)
			if err != nil {
				return err
			}
		}
		_, err = tx.ExecContext(ctx, `DELETE FROM tokens WHERE scope = ?
			AND session_id IN (SELECT id FROM sessions WHERE workspace_id = ?)`, string(ScopeSession), d.ID)
		if err != nil {
			return err
		}
		r, err := tx.ExecContext(ctx, `DELETE FROM workspaces WHERE id = ?`, d.ID)
		return mustChange(r, err)
	})
	if err != nil {
		return fmt.Errorf("keep workspace %s in the store as deleted: %w", d.ID, err)
	}
	return nil
}

// values returns d's values for deletedColumns.
func (d Deleted) values() []any { return append([]any{d.ID, d.Name}, details(d.Workspace)...) }

// ReviveDeleted turns a deleted workspace into a workspace with that name, in
// StateRestoring, and its transcripts into its sessions. The error is
// ErrNameTaken if a workspace of its repository has the name, and ErrNotFound if no deleted workspace has
// that id.
func (s *Store) ReviveDeleted(ctx context.Context, id, name string) error {
	err := s.inTransaction(ctx, func(tx *sql.Tx) error {
		r, err := tx.ExecContext(ctx, `INSERT INTO workspaces (`+workspaceColumns+`, named_in)
			SELECT id, ?, `+detailColumns+`, ?, '', git_dir FROM deleted_workspaces WHERE id = ?`, name, string(workspace.StateRestoring), id)
		if err = mustChange(r, err); err != nil {
			return err
		}
		for _, query := range []string{
			`INSERT INTO sessions (` + sessionColumns + `) SELECT ` + sessionColumns + ` FROM deleted_sessions WHERE workspace_id = ?`,
			`DELETE FROM deleted_sessions WHERE workspace_id = ?`,
			`DELETE FROM deleted_workspaces WHERE id = ?`,
		} {
			if _, err := tx.ExecContext(ctx, query, id); err != nil {
				return err
			}
		}
		return nil
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

// OtherDeleted reports whether another deleted workspace than that with id has this name.
func (s *Store) OtherDeleted(ctx context.Context, id, name string) (others bool, err error) {
	err = s.read.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM deleted_workspaces WHERE name = ? AND id <> ?)`, name, id).Scan(&others)
	return others, err
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
