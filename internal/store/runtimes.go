package store

import (
	"context"
	"fmt"
	"time"
)

// Runtime says how a remote runtime is reached.
type Runtime struct {
	Name, Address, Pin, TokenFile, Command string
	CreatedAt                              time.Time
}

// AddRuntime stores r. If there is one with its name, the error is ErrNameTaken.
func (s *Store) AddRuntime(ctx context.Context, r Runtime) error {
	_, err := s.write.ExecContext(ctx,
		`INSERT INTO runtimes (name, address, pin, token_file, command, created_at) VALUES (?, ?, ?, ?, ?, ?)`,
		r.Name, r.Address, r.Pin, r.TokenFile, r.Command, r.CreatedAt.UnixNano())
	if isUnique(err) {
		err = ErrNameTaken
	}
	if err != nil {
		return fmt.Errorf("store runtime %s: %w", r.Name, err)
	}
	return nil
}

// Runtimes returns all remote runtimes, ordered by name.
func (s *Store) Runtimes(ctx context.Context) ([]Runtime, error) {
	list, err := collect(ctx, s.read, scanRuntime, `SELECT name, address, pin, token_file, command, created_at FROM runtimes ORDER BY name`)
	if err != nil {
		return nil, fmt.Errorf("list runtimes: %w", err)
	}
	return list, nil
}

func scanRuntime(row scanner) (r Runtime, err error) {
	var created int64
	err = row.Scan(&r.Name, &r.Address, &r.Pin, &r.TokenFile, &r.Command, &created)
	r.CreatedAt = fromNano(created)
	return r, err
}

// RemoveRuntime removes the runtime with that name, or returns ErrNotFound.
func (s *Store) RemoveRuntime(ctx context.Context, name string) error {
	r, err := s.write.ExecContext(ctx, `DELETE FROM runtimes WHERE name = ?`, name)
	if err = mustChange(r, err); err != nil {
		return fmt.Errorf("remove runtime %s from the store: %w", name, err)
	}
	return nil
}
