package store

import (
	"context"
	"fmt"
	"time"
)

// Subscription is where a browser gets notices by Web Push. It belongs to the
// browser's login, and ends with it.
type Subscription struct {
	Login    string
	Endpoint string // the URL of a push service
	Key      []byte // the browser's public key: an uncompressed point of P-256
	Auth     []byte // what the browser and we alone know
	// Content says that names and reasons are sent too.
	Content   bool
	CreatedAt time.Time
}

const subscriptionColumns = `s.login, s.endpoint, s.key, s.auth, s.content, s.created_at`

// SetSubscription stores s, in place of what its login or its endpoint had before.
func (s *Store) SetSubscription(ctx context.Context, v Subscription) error {
	_, err := s.write.ExecContext(ctx, `INSERT OR REPLACE INTO push_subscriptions (login, endpoint, key, auth, content, created_at)
		VALUES (?, ?, ?, ?, ?, ?)`, v.Login, v.Endpoint, v.Key, v.Auth, v.Content, v.CreatedAt.UnixNano())
	if err != nil {
		return fmt.Errorf("store push subscription of login %s: %w", v.Login, err)
	}
	return nil
}

// Subscriptions returns those of all logins that are valid at now, the oldest first.
func (s *Store) Subscriptions(ctx context.Context, now time.Time) ([]Subscription, error) {
	list, err := collect(ctx, s.read, scanSubscription, `SELECT `+subscriptionColumns+` FROM push_subscriptions s
		JOIN logins l ON l.id = s.login WHERE `+loginLives+` ORDER BY s.created_at, s.login`, now.UnixNano(), now.UnixNano())
	if err != nil {
		return nil, fmt.Errorf("list push subscriptions: %w", err)
	}
	return list, nil
}

// Subscription returns that of a login, or ErrNotFound.
func (s *Store) Subscription(ctx context.Context, login string) (Subscription, error) {
	v, err := scanSubscription(s.read.QueryRowContext(ctx, `SELECT `+subscriptionColumns+` FROM push_subscriptions s WHERE s.login = ?`, login))
	if err != nil {
		return v, fmt.Errorf("look up push subscription of login %s: %w", login, notFound(err))
	}
	return v, nil
}

// DeleteSubscription removes the subscription of a login if it has that endpoint,
// else it returns ErrNotFound; "" means any endpoint.
func (s *Store) DeleteSubscription(ctx context.Context, login, endpoint string) error {
	r, err := s.write.ExecContext(ctx, `DELETE FROM push_subscriptions WHERE login = ? AND (? = '' OR endpoint = ?)`, login, endpoint, endpoint)
	if err = mustChange(r, err); err != nil {
		return fmt.Errorf("remove push subscription of login %s: %w", login, err)
	}
	return nil
}

func scanSubscription(row scanner) (Subscription, error) {
	var v Subscription
	var created int64
	err := row.Scan(&v.Login, &v.Endpoint, &v.Key, &v.Auth, &v.Content, &created)
	v.CreatedAt = fromNano(created)
	return v, err
}
