package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

// Exposed is a directory that the program of a sandboxed session could write to.
type Exposed struct {
	Path   string // without links
	Method string // of the sandbox
	Which  string // the identity of the directory then (dirid.Of), "" if unknown
	Boot   string // of the machine, when the session began
	// Session is the id of the last such session, and Workspace the name of its workspace
	// then: both may be gone.
	Session, Workspace string
	At                 time.Time // never before that of an earlier such session
}

// Expose records directories. One record of a path, a method and an identity is kept, with
// the newest boot.
func (s *Store) Expose(ctx context.Context, list []Exposed) error {
	return s.inTransaction(ctx, func(tx *sql.Tx) error {
		for _, e := range list {
			_, err := tx.ExecContext(ctx, `INSERT INTO exposed (path, method, which, boot, session, workspace, at) VALUES (?, ?, ?, ?, ?, ?, ?)
				ON CONFLICT DO UPDATE SET boot = excluded.boot, session = excluded.session, workspace = excluded.workspace, at = max(at, excluded.at)`,
				e.Path, e.Method, e.Which, e.Boot, e.Session, e.Workspace, e.At.UnixNano())
			if err != nil {
				return fmt.Errorf("record that sandboxed programs can write to %s: %w", e.Path, err)
			}
		}
		return nil
	})
}

// Exposed returns all such directories, ordered by path.
func (s *Store) Exposed(ctx context.Context) ([]Exposed, error) {
	list, err := collect(ctx, s.read, scanExposed, `SELECT path, method, which, boot, session, workspace, at FROM exposed ORDER BY path, method, which`)
	if err != nil {
		return nil, fmt.Errorf("list where sandboxed programs can write: %w", err)
	}
	return list, nil
}

func scanExposed(row scanner) (e Exposed, err error) {
	var at int64
	err = row.Scan(&e.Path, &e.Method, &e.Which, &e.Boot, &e.Session, &e.Workspace, &at)
	e.At = fromNano(at)
	return e, err
}

// ForgetExposed removes a record.
func (s *Store) ForgetExposed(ctx context.Context, e Exposed) error {
	if _, err := s.write.ExecContext(ctx, `DELETE FROM exposed WHERE path = ? AND method = ? AND which = ?`, e.Path, e.Method, e.Which); err != nil {
		return fmt.Errorf("forget that sandboxed programs could write to %s: %w", e.Path, err)
	}
	return nil
}

// SetBoot sets the boot of records from before there were any.
func (s *Store) SetBoot(ctx context.Context, boot string) error {
	if _, err := s.write.ExecContext(ctx, `UPDATE exposed SET boot = ? WHERE boot = ''`, boot); err != nil {
		return fmt.Errorf("record when sandboxed programs could write: %w", err)
	}
	return nil
}
