package store

import (
	"context"
	"database/sql"
	"fmt"

	"middleman/workspace"
)

// BeginCreation adds w, which will be made in the repository with that git
// directory ("" for none), together with the request for it, so that an
// interrupted creation can be continued. If a workspace of that repository has
// w's name, the error is ErrNameTaken.
func (s *Store) BeginCreation(ctx context.Context, w workspace.Workspace, gitDir string, request []byte) error {
	err := s.inTransaction(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, insertWorkspace, append(values(w), gitDir)...)
		if err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `INSERT INTO creations (workspace_id, request) VALUES (?, ?)`, w.ID, request)
		return err
	})
	if isUnique(err) {
		err = ErrNameTaken
	}
	if err != nil {
		return fmt.Errorf("store workspace %s: %w", w.Name, err)
	}
	return nil
}

// Creation returns the stored request of a workspace whose creation is not
// finished. If there is none, the error is ErrNotFound.
func (s *Store) Creation(ctx context.Context, workspaceID string) (request []byte, err error) {
	err = s.read.QueryRowContext(ctx, `SELECT request FROM creations WHERE workspace_id = ?`, workspaceID).Scan(&request)
	if err != nil {
		return nil, fmt.Errorf("read the request for workspace %s: %w", workspaceID, notFound(err))
	}
	return request, nil
}

// EndCreation records that a workspace is ready, and deletes the stored request.
// If there is no such workspace, the error is ErrNotFound.
func (s *Store) EndCreation(ctx context.Context, workspaceID string) error {
	err := s.inTransaction(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, `DELETE FROM creations WHERE workspace_id = ?`, workspaceID); err != nil {
			return err
		}
		r, err := tx.ExecContext(ctx, `UPDATE workspaces SET state = ?, error = '' WHERE id = ?`, string(workspace.StateReady), workspaceID)
		return mustChange(r, err)
	})
	if err != nil {
		return fmt.Errorf("store that workspace %s is ready: %w", workspaceID, err)
	}
	return nil
}

// TellStage replaces the detail, which tells the progress, of the running stage
// of that name. If none runs, the error is ErrNotFound.
func (s *Store) TellStage(ctx context.Context, workspaceID string, stage workspace.Stage) error {
	r, err := s.write.ExecContext(ctx, `UPDATE stages SET detail = ? WHERE state = 'running' AND seq =
		(SELECT max(seq) FROM stages WHERE workspace_id = ? AND name = ?)`, stage.Detail, workspaceID, stage.Name)
	if err = mustChange(r, err); err != nil {
		return fmt.Errorf("store how far stage %s of workspace %s is: %w", stage.Name, workspaceID, err)
	}
	return nil
}
