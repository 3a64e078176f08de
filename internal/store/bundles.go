package store

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// Bundle is the record of a bundle. The store does not look into Content.
type Bundle struct {
	Digest, ID string
	Revision   int64
	Content    []byte
	StoredAt   time.Time
}

// ErrRevisionTaken: another content has the id and the revision.
var ErrRevisionTaken = errors.New("revision is taken")

const bundleColumns = `digest, id, revision, content, stored_at`

// AddBundle stores b. added is false if it is there already; a stored content that is
// not b's is replaced by it. The error is ErrRevisionTaken if a bundle with another
// digest has the id and the revision.
func (s *Store) AddBundle(ctx context.Context, b Bundle) (added bool, err error) {
	err = s.inTransaction(ctx, func(tx *sql.Tx) error {
		var content []byte
		err := tx.QueryRowContext(ctx, `SELECT content FROM bundles WHERE digest = ?`, b.Digest).Scan(&content)
		switch {
		case err == nil && bytes.Equal(content, b.Content):
			return nil
		case err == nil:
			_, err = tx.ExecContext(ctx, `UPDATE bundles SET content = ?, id = ?, revision = ? WHERE digest = ?`, b.Content, b.ID, b.Revision, b.Digest)
		case errors.Is(err, sql.ErrNoRows):
			_, err = tx.ExecContext(ctx, `INSERT INTO bundles (`+bundleColumns+`) VALUES (`+marks(bundleColumns)+`)`,
				b.Digest, b.ID, b.Revision, b.Content, b.StoredAt.UnixNano())
		}
		added = err == nil
		return err
	})
	if isUnique(err) {
		err = ErrRevisionTaken
	}
	if err != nil {
		return false, fmt.Errorf("store bundle %s, revision %d: %w", b.ID, b.Revision, err)
	}
	return added, nil
}

// Bundle returns the bundle with that digest, or ErrNotFound.
func (s *Store) Bundle(ctx context.Context, digest string) (Bundle, error) {
	b, err := scanBundle(s.read.QueryRowContext(ctx, `SELECT `+bundleColumns+` FROM bundles WHERE digest = ?`, digest))
	if err != nil {
		return Bundle{}, fmt.Errorf("read bundle %s: %w", digest, notFound(err))
	}
	return b, nil
}

// Revisions returns all bundles with that id, newest revision first; with "" those of
// all ids.
func (s *Store) Revisions(ctx context.Context, id string) ([]Bundle, error) {
	list, err := collect(ctx, s.read, scanBundle, `SELECT `+bundleColumns+` FROM bundles WHERE id = ? OR ? = '' ORDER BY id, revision DESC`, id, id)
	if err != nil {
		return nil, fmt.Errorf("list the revisions of bundle %s: %w", id, err)
	}
	return list, nil
}

// Bundles returns a page of bundles in the order in which they were stored.
func (s *Store) Bundles(ctx context.Context, p Page) (list []Bundle, next string, err error) {
	at, digest, err := p.after()
	if err == nil {
		list, err = collect(ctx, s.read, scanBundle, `SELECT `+bundleColumns+` FROM bundles WHERE (stored_at, digest) > (?, ?) ORDER BY stored_at, digest LIMIT ?`, at, digest, p.sqlLimit())
	}
	if err != nil {
		return nil, "", fmt.Errorf("list bundles: %w", err)
	}
	list, next = cut(list, p, func(b Bundle) string { return cursorAt(b.StoredAt, b.Digest) })
	return list, next, nil
}

// BundleUsers returns the sessions that were started with that bundle, as
// WORKSPACE/SESSION.
func (s *Store) BundleUsers(ctx context.Context, digest string) ([]string, error) {
	users, err := collect(ctx, s.read, scanID, `SELECT w.name || '/' || s.name FROM sessions s JOIN workspaces w ON w.id = s.workspace_id
		WHERE instr(s.bundle, ?) > 0 ORDER BY 1`, `"digest":"`+digest+`"`)
	if err != nil {
		return nil, fmt.Errorf("look who uses bundle %s: %w", digest, err)
	}
	return users, nil
}

// DeleteBundles removes the bundles with these digests: all, or none if the error is
// not nil. One that is not there is ErrNotFound.
func (s *Store) DeleteBundles(ctx context.Context, digests []string) error {
	err := s.inTransaction(ctx, func(tx *sql.Tx) error {
		for _, digest := range digests {
			r, err := tx.ExecContext(ctx, `DELETE FROM bundles WHERE digest = ?`, digest)
			if err = mustChange(r, err); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("remove bundles from the store: %w", err)
	}
	return nil
}

func scanBundle(row scanner) (b Bundle, err error) {
	var at int64
	err = row.Scan(&b.Digest, &b.ID, &b.Revision, &b.Content, &at)
	b.StoredAt = fromNano(at)
	return b, err
}
