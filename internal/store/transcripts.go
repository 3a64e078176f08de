package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

// Transcript is the record of a session of a deleted workspace. Its state
// directory is still there: what it printed, its last screen and its exit.
type Transcript struct {
	Session
	Bytes         int64 // that the state directory takes on disk
	WorkspaceName string
	DeletedAt     time.Time // when the workspace was deleted
}

const transcriptColumns = sessionColumns + `, bytes,
	coalesce((SELECT d.name FROM deleted_workspaces d WHERE d.id = workspace_id), ''),
	coalesce((SELECT d.deleted_at FROM deleted_workspaces d WHERE d.id = workspace_id), 0)`

// AddTranscript stores a session of a deleted workspace that has no record, as
// after the database was lost. The error is ErrNameTaken if another transcript
// of the workspace has its name, and ErrNotFound if there is no such deleted
// workspace.
func (s *Store) AddTranscript(ctx context.Context, x Session, bytes int64) error {
	values, err := encodeSession(x)
	if err == nil {
		_, err = s.write.ExecContext(ctx, `INSERT INTO deleted_sessions (`+sessionColumns+`, bytes) VALUES (`+marks(sessionColumns)+`, ?)`, append(values, bytes)...)
	}
	switch {
	case isUnique(err):
		err = ErrNameTaken
	case isForeignKey(err):
		err = ErrNotFound
	}
	if err != nil {
		return fmt.Errorf("store transcript %s of deleted workspace %s: %w", x.Name, x.WorkspaceID, err)
	}
	return nil
}

// Transcript returns the session of a deleted workspace with that id, or
// ErrNotFound.
func (s *Store) Transcript(ctx context.Context, id string) (Transcript, error) {
	t, err := scanTranscript(s.read.QueryRowContext(ctx, `SELECT `+transcriptColumns+` FROM deleted_sessions WHERE `+plainID+` AND id = ?`, id))
	if err != nil {
		return Transcript{}, fmt.Errorf("read session %s of a deleted workspace: %w", id, notFound(err))
	}
	return t, nil
}

// Transcripts returns a page of the sessions of a deleted workspace, or of all
// deleted workspaces if workspaceID is "", oldest session first. next is the
// cursor of the next page, "" at the end.
func (s *Store) Transcripts(ctx context.Context, workspaceID string, p Page) (list []Transcript, next string, err error) {
	return sessionPage(ctx, s, `SELECT `+transcriptColumns+` FROM deleted_sessions`, workspaceID, p, scanTranscript)
}

// ForgetTranscript removes the record of a session of a deleted workspace, or
// returns ErrNotFound. The workspace's record goes with the last transcript, if
// there is no snapshot of it.
func (s *Store) ForgetTranscript(ctx context.Context, id string) error {
	err := s.inTransaction(ctx, func(tx *sql.Tx) error {
		var workspaceID string
		err := tx.QueryRowContext(ctx, `DELETE FROM deleted_sessions WHERE id = ? RETURNING workspace_id`, id).Scan(&workspaceID)
		if err != nil {
			return notFound(err)
		}
		return dropEmpty(ctx, tx, workspaceID)
	})
	if err != nil {
		return fmt.Errorf("forget session %s of a deleted workspace: %w", id, err)
	}
	return nil
}

func scanTranscript(row scanner) (Transcript, error) {
	var t Transcript
	var deleted int64
	session, err := scanSession(extended{row, []any{&t.Bytes, &t.WorkspaceName, &deleted}})
	if err != nil {
		return Transcript{}, err
	}
	t.Session, t.DeletedAt = session, fromNano(deleted)
	if t.Bytes < 0 { // another program wrote it
		t.Bytes = 0
	}
	return t, nil
}

// extended is a row with more columns than the destinations that Scan gets.
type extended struct {
	scanner
	more []any
}

func (e extended) Scan(dest ...any) error { return e.scanner.Scan(append(dest, e.more...)...) }
