package store

import (
	"context"
	"fmt"
)

// RotateToken gives the token with that id a new secret, or returns ErrNotFound.
// The old secret is not valid from then on.
func (s *Store) RotateToken(ctx context.Context, id, secret string) error {
	r, err := s.write.ExecContext(ctx, `UPDATE tokens SET hash = ?, last_used_at = NULL WHERE id = ?`, hash(secret), id)
	if err = mustChange(r, err); err != nil {
		return fmt.Errorf("rotate token %s: %w", id, err)
	}
	return nil
}
