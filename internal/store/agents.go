package store

import (
	"context"
	"encoding/json"
	"fmt"

	"middleman/terminal"
)

// SetSessionSecret records the secret by which processes of a session are known:
// a hash of it. A session has one. The error is ErrNotFound if there is no such
// session.
func (s *Store) SetSessionSecret(ctx context.Context, id, secret string) error {
	_, err := s.write.ExecContext(ctx, `INSERT INTO agents (session_id, token) VALUES (?, ?)
		ON CONFLICT (session_id) DO UPDATE SET token = excluded.token`, id, hash(secret))
	if isForeignKey(err) {
		err = ErrNotFound
	}
	if err != nil {
		return fmt.Errorf("store the token of session %s: %w", id, err)
	}
	return nil
}

// SessionOfSecret returns the id of the running session whose secret it is, or
// ErrNotFound.
func (s *Store) SessionOfSecret(ctx context.Context, secret string) (id string, err error) {
	err = s.read.QueryRowContext(ctx, `SELECT session_id FROM agents JOIN sessions ON sessions.id = session_id
		WHERE token = ? AND state IN (?, ?)`, hash(secret), string(terminal.StateStarting), string(terminal.StateRunning)).Scan(&id)
	if err != nil {
		return "", fmt.Errorf("look up a session's token: %w", notFound(err))
	}
	return id, nil
}

// SetTracker records what is known of a session's program: v as JSON. It does
// nothing for a session without a secret.
func (s *Store) SetTracker(ctx context.Context, id string, v any) error {
	data, err := json.Marshal(v)
	if err == nil {
		_, err = s.write.ExecContext(ctx, `UPDATE agents SET tracker = ? WHERE session_id = ?`, string(data), id)
	}
	if err != nil {
		return fmt.Errorf("store what session %s does: %w", id, err)
	}
	return nil
}

// Tracker decodes what is known of a session's program into v. It leaves v alone
// if nothing is.
func (s *Store) Tracker(ctx context.Context, id string, v any) error {
	var data string
	err := s.read.QueryRowContext(ctx, `SELECT tracker FROM agents WHERE session_id = ?`, id).Scan(&data)
	if err = notFound(err); err == nil && data != "" {
		err = json.Unmarshal([]byte(data), v)
	}
	if err != nil {
		return fmt.Errorf("read what session %s does: %w", id, err)
	}
	return nil
}

// SetSettled records that the session's end needs nobody any more. If there is no such
// session, the error is ErrNotFound.
func (s *Store) SetSettled(ctx context.Context, id string) error {
	r, err := s.write.ExecContext(ctx, `UPDATE sessions SET settled = 1 WHERE id = ?`, id)
	if err = mustChange(r, err); err != nil {
		return fmt.Errorf("store that the end of session %s is settled: %w", id, err)
	}
	return nil
}

// SetConversation records by which id the session's program takes its
// conversation up again. If there is no such session, the error is ErrNotFound.
func (s *Store) SetConversation(ctx context.Context, id, conversation string) error {
	r, err := s.write.ExecContext(ctx, `UPDATE sessions SET conversation = ? WHERE id = ?`, conversation, id)
	if err = mustChange(r, err); err != nil {
		return fmt.Errorf("store the conversation of session %s: %w", id, err)
	}
	return nil
}
