package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// Login is a browser that used a login link. It proves who it is with a key
// that it keeps, so nothing here lets anybody in.
type Login struct {
	ID        string // ours, see terminal.NewID
	Key       []byte // public
	Name      string
	UserAgent string
	// Address is where the browser was when it logged in.
	Address string
	// Origin is that of the page that logged in.
	Origin string
	// Port is where the server listened.
	Port       int
	CreatedAt  time.Time
	LastUsedAt time.Time
	// IdleAt is when it expires unless it is used.
	IdleAt    time.Time
	ExpiresAt time.Time
}

// Ends is when the login ends unless it is used.
func (l Login) Ends() time.Time {
	if l.IdleAt.Before(l.ExpiresAt) {
		return l.IdleAt
	}
	return l.ExpiresAt
}

const (
	loginColumns = `id, key, name, user_agent, address, origin, port, created_at, last_used_at, idle_at, expires_at`
	loginLives   = `expires_at > ? AND idle_at > ?`
)

// CreateLogin stores l.
func (s *Store) CreateLogin(ctx context.Context, l Login) error {
	_, err := s.write.ExecContext(ctx, `INSERT INTO logins (`+loginColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		l.ID, l.Key, l.Name, l.UserAgent, l.Address, l.Origin, l.Port,
		l.CreatedAt.UnixNano(), l.LastUsedAt.UnixNano(), l.IdleAt.UnixNano(), l.ExpiresAt.UnixNano())
	if err != nil {
		return fmt.Errorf("store login: %w", err)
	}
	return nil
}

// Login returns the login with that id. One that is unknown or
// has expired is ErrNotFound.
func (s *Store) Login(ctx context.Context, id string, now time.Time) (Login, error) {
	l, err := scanLogin(s.read.QueryRowContext(ctx, `SELECT `+loginColumns+` FROM logins WHERE id = ? AND `+loginLives,
		id, now.UnixNano(), now.UnixNano()))
	if err != nil {
		return Login{}, fmt.Errorf("look up login: %w", notFound(err))
	}
	return l, nil
}

// UseLogin notes that a login was used, so that it is idle at another time.
// One that Login would not return is ErrNotFound.
func (s *Store) UseLogin(ctx context.Context, id string, now, idle time.Time) error {
	r, err := s.write.ExecContext(ctx, `UPDATE logins SET last_used_at = ?, idle_at = ? WHERE id = ? AND `+loginLives,
		now.UnixNano(), idle.UnixNano(), id, now.UnixNano(), now.UnixNano())
	if err = mustChange(r, err); err != nil {
		return fmt.Errorf("use login: %w", err)
	}
	return nil
}

// Logins returns the logins that Login would return, oldest first.
func (s *Store) Logins(ctx context.Context, now time.Time) ([]Login, error) {
	list, err := collect(ctx, s.read, scanLogin, `SELECT `+loginColumns+` FROM logins WHERE `+loginLives+` ORDER BY created_at, id`,
		now.UnixNano(), now.UnixNano())
	if err != nil {
		return nil, fmt.Errorf("list logins: %w", err)
	}
	return list, nil
}

// DeleteLogin logs that browser out, or returns ErrNotFound.
func (s *Store) DeleteLogin(ctx context.Context, id string) error {
	r, err := s.write.ExecContext(ctx, `DELETE FROM logins WHERE id = ?`, id)
	if err = mustChange(r, err); err != nil {
		return fmt.Errorf("remove login %s: %w", id, err)
	}
	return nil
}

// DeleteLogins logs every browser out, forgets the login links that are left,
// and returns the ids of the logins.
func (s *Store) DeleteLogins(ctx context.Context) ([]string, error) {
	ids, err := s.deleteLogins(ctx)
	if err != nil {
		return nil, fmt.Errorf("remove all logins: %w", err)
	}
	return ids, nil
}

func (s *Store) deleteLogins(ctx context.Context) ([]string, error) {
	if _, err := s.write.ExecContext(ctx, `DELETE FROM login_links`); err != nil {
		return nil, err
	}
	return collect(ctx, s.write, func(row scanner) (id string, err error) {
		return id, row.Scan(&id)
	}, `DELETE FROM logins RETURNING id`)
}

// ServerKey returns the server's private key, which the first caller makes.
func (s *Store) ServerKey(ctx context.Context, generate func() ([]byte, error)) (key []byte, err error) {
	const look = `SELECT key FROM server_key WHERE one = 1`
	err = s.read.QueryRowContext(ctx, look).Scan(&key)
	if errors.Is(err, sql.ErrNoRows) {
		if key, err = generate(); err != nil {
			return nil, err
		}
		if _, err = s.write.ExecContext(ctx, `INSERT OR IGNORE INTO server_key (one, key) VALUES (1, ?)`, key); err == nil {
			err = s.write.QueryRowContext(ctx, look).Scan(&key)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("server's key: %w", err)
	}
	return key, nil
}

func scanLogin(row scanner) (Login, error) {
	var l Login
	var created, used, idle, expires int64
	err := row.Scan(&l.ID, &l.Key, &l.Name, &l.UserAgent, &l.Address, &l.Origin, &l.Port, &created, &used, &idle, &expires)
	l.CreatedAt, l.LastUsedAt = fromNano(created), fromNano(used)
	l.IdleAt, l.ExpiresAt = fromNano(idle), fromNano(expires)
	return l, err
}
