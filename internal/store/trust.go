package store

import (
	"context"
	"fmt"
	"time"
)

// TrustedConfig is a repository configuration that the user trusts in the
// repository whose common git directory is GitDir.
type TrustedConfig struct {
	GitDir     string
	Hash       string // of Content
	Content    []byte
	ApprovedAt time.Time
}

// Trust stores c. If c's repository and hash are stored already, it changes
// nothing.
func (s *Store) Trust(ctx context.Context, c TrustedConfig) error {
	_, err := s.write.ExecContext(ctx,
		`INSERT INTO trusted_configs (git_dir, hash, content, approved_at) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING`,
		c.GitDir, c.Hash, c.Content, c.ApprovedAt.UnixNano())
	if err != nil {
		return fmt.Errorf("store trust in the configuration of %s: %w", c.GitDir, err)
	}
	return nil
}

// Trusted returns the content of the trusted configuration with that hash in that
// repository. If there is none, the error is ErrNotFound.
func (s *Store) Trusted(ctx context.Context, gitDir, hash string) ([]byte, error) {
	var content []byte
	err := s.read.QueryRowContext(ctx,
		`SELECT content FROM trusted_configs WHERE git_dir = ? AND hash = ?`, gitDir, hash).Scan(&content)
	if err != nil {
		return nil, fmt.Errorf("read trust in the configuration of %s: %w", gitDir, notFound(err))
	}
	return content, nil
}

// TrustedConfigs returns all trusted configurations, ordered by repository and
// then by time, oldest first.
func (s *Store) TrustedConfigs(ctx context.Context) ([]TrustedConfig, error) {
	list, err := collect(ctx, s.read, scanTrusted,
		`SELECT git_dir, hash, content, approved_at FROM trusted_configs ORDER BY git_dir, approved_at, hash`)
	if err != nil {
		return nil, fmt.Errorf("list trust in configurations: %w", err)
	}
	return list, nil
}

func scanTrusted(row scanner) (TrustedConfig, error) {
	var c TrustedConfig
	var at int64
	err := row.Scan(&c.GitDir, &c.Hash, &c.Content, &at)
	c.ApprovedAt = fromNano(at)
	return c, err
}

// Distrust removes all trusted configurations of that repository, and returns
// their number.
func (s *Store) Distrust(ctx context.Context, gitDir string) (int, error) {
	r, err := s.write.ExecContext(ctx, `DELETE FROM trusted_configs WHERE git_dir = ?`, gitDir)
	if err != nil {
		return 0, fmt.Errorf("remove trust in the configuration of %s: %w", gitDir, err)
	}
	n, err := r.RowsAffected()
	return int(n), err
}

// SetConfigHash records the hash of the configuration that the workspace was made
// with. If there is no such workspace, the error is ErrNotFound.
func (s *Store) SetConfigHash(ctx context.Context, id, hash string) error {
	r, err := s.write.ExecContext(ctx, `UPDATE workspaces SET config_hash = ? WHERE id = ?`, hash, id)
	if err = mustChange(r, err); err != nil {
		return fmt.Errorf("store configuration of workspace %s: %w", id, err)
	}
	return nil
}
