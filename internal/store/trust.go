package store

import (
	"context"
	"fmt"
	"time"
)

// Trust records that the user agreed to run repository configuration of that
// hash in the repository whose common git directory is gitDir.
func (s *Store) Trust(ctx context.Context, gitDir, hash string, at time.Time) error {
	_, err := s.write.ExecContext(ctx,
		`INSERT INTO trusted_configs (git_dir, hash, approved_at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING`,
		gitDir, hash, at.UnixNano())
	if err != nil {
		return fmt.Errorf("store trust in the configuration of %s: %w", gitDir, err)
	}
	return nil
}

// Trusted reports whether the user agreed to that very content there.
func (s *Store) Trusted(ctx context.Context, gitDir, hash string) (bool, error) {
	var n int
	err := s.read.QueryRowContext(ctx,
		`SELECT count(*) FROM trusted_configs WHERE git_dir = ? AND hash = ?`, gitDir, hash).Scan(&n)
	if err != nil {
		return false, fmt.Errorf("read trust in the configuration of %s: %w", gitDir, err)
	}
	return n > 0, nil
}

// Distrust forgets every agreement for that repository, and says how many
// there were.
func (s *Store) Distrust(ctx context.Context, gitDir string) (int, error) {
	r, err := s.write.ExecContext(ctx, `DELETE FROM trusted_configs WHERE git_dir = ?`, gitDir)
	if err != nil {
		return 0, fmt.Errorf("remove trust in the configuration of %s: %w", gitDir, err)
	}
	n, err := r.RowsAffected()
	return int(n), err
}
