package store

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// keyLife is how long an answer is kept for a repeated request.
const keyLife = 24 * time.Hour

// Request is a request that has an Idempotency-Key.
type Request struct {
	Key   string
	Route string // method and path
	Hash  []byte // of the rest of the request, to detect another one with this key
}

// Answer is the answer to a request.
type Answer struct {
	Status int
	Body   []byte
}

// BeginRequest claims r and returns nil, nil: the caller answers r and then calls
// FinishRequest or AbandonRequest. If r was answered before, BeginRequest returns
// that answer and claims nothing. While another caller answers r, the error is
// ErrKeyBusy; if its key was used for another request, it is ErrKeyReused.
func (s *Store) BeginRequest(ctx context.Context, r Request, now time.Time) (*Answer, error) {
	answer, err := s.beginRequest(ctx, r, now)
	if IsFull(err) {
		return nil, err // it is the disk's, and no matter of the key
	}
	if err != nil {
		return nil, fmt.Errorf("idempotency key %q of %s: %w", r.Key, r.Route, err)
	}
	return answer, nil
}

func (s *Store) beginRequest(ctx context.Context, r Request, now time.Time) (answer *Answer, err error) {
	tx, err := s.write.BeginTx(ctx, nil)
	if err != nil {
		return nil, err
	}
	defer func() {
		if e := tx.Rollback(); !errors.Is(e, sql.ErrTxDone) {
			err = errors.Join(err, e)
		}
	}()
	_, err = tx.ExecContext(ctx, `DELETE FROM idempotency_keys WHERE key = ? AND route = ? AND created_at <= ?`,
		r.Key, r.Route, now.Add(-keyLife).UnixNano())
	if err != nil {
		return nil, err
	}
	var requestHash, body []byte
	var status *int
	err = tx.QueryRowContext(ctx, `SELECT request_hash, status, body FROM idempotency_keys WHERE key = ? AND route = ?`,
		r.Key, r.Route).Scan(&requestHash, &status, &body)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		_, err = tx.ExecContext(ctx, `INSERT INTO idempotency_keys (key, route, request_hash, created_at) VALUES (?, ?, ?, ?)`,
			r.Key, r.Route, r.Hash, now.UnixNano())
		if err != nil {
			return nil, err
		}
		return nil, tx.Commit()
	case err != nil:
		return nil, err
	case !bytes.Equal(requestHash, r.Hash):
		return nil, ErrKeyReused
	case status == nil:
		return nil, ErrKeyBusy
	}
	return &Answer{Status: *status, Body: body}, nil
}

// FinishRequest stores the answer to r for a day. If r was not claimed, the error
// is ErrNotFound.
func (s *Store) FinishRequest(ctx context.Context, r Request, a Answer) error {
	result, err := s.write.ExecContext(ctx,
		`UPDATE idempotency_keys SET status = ?, body = ? WHERE key = ? AND route = ? AND status IS NULL`,
		a.Status, a.Body, r.Key, r.Route)
	if err = mustChange(result, err); err != nil {
		return fmt.Errorf("idempotency key %q of %s: %w", r.Key, r.Route, err)
	}
	return nil
}

// AbandonRequest drops the claim on r, so that r may be sent again.
func (s *Store) AbandonRequest(ctx context.Context, r Request) error {
	_, err := s.write.ExecContext(ctx, `DELETE FROM idempotency_keys WHERE key = ? AND route = ? AND status IS NULL`, r.Key, r.Route)
	if err != nil {
		return fmt.Errorf("idempotency key %q of %s: %w", r.Key, r.Route, err)
	}
	return nil
}

// Expire removes expired tokens, login links, logins and answers to requests.
func (s *Store) Expire(ctx context.Context, now time.Time) error {
	for _, x := range []struct {
		query  string
		before time.Time
	}{
		{`DELETE FROM tokens WHERE expires_at <= ?`, now},
		{`DELETE FROM login_links WHERE expires_at <= ?`, now},
		{`DELETE FROM logins WHERE min(expires_at, idle_at) <= ?`, now},
		{`DELETE FROM idempotency_keys WHERE status IS NOT NULL AND created_at <= ?`, now.Add(-keyLife)},
	} {
		if _, err := s.write.ExecContext(ctx, x.query, x.before.UnixNano()); err != nil {
			return fmt.Errorf("remove what has expired: %w", err)
		}
	}
	return nil
}
