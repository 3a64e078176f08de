package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// Login is the record of a logged-in browser. The browser authenticates with a
// private key that only it has, so no secret is stored here.
type Login struct {
	ID        string // made by terminal.NewID
	Key       []byte // the browser's public key: an uncompressed point of P-256
	Name      string
	UserAgent string
	// Address is the browser's IP address when it logged in.
	Address string
	// Origin is the origin of the page that logged in.
	Origin string
	// Port is the server's TCP port at that time.
	Port       int
	CreatedAt  time.Time
	LastUsedAt time.Time
	// IdleAt is when the login expires if it is not used before.
	IdleAt time.Time
	// ExpiresAt is when it expires in any case.
	ExpiresAt time.Time
}

// Ends returns when the login ends if it is not used before.
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

// Login returns the login with that id. If it is unknown or has expired, the
// error is ErrNotFound.
func (s *Store) Login(ctx context.Context, id string, now time.Time) (Login, error) {
	l, err := scanLogin(s.read.QueryRowContext(ctx, `SELECT `+loginColumns+` FROM logins WHERE id = ? AND `+loginLives,
		id, now.UnixNano(), now.UnixNano()))
	if err != nil {
		return Login{}, fmt.Errorf("look up login: %w", notFound(err))
	}
	return l, nil
}

// UseLogin records that a login was used at now, and sets IdleAt to idle. If the
// login is unknown or has expired, the error is ErrNotFound.
func (s *Store) UseLogin(ctx context.Context, id string, now, idle time.Time) error {
	r, err := s.write.ExecContext(ctx, `UPDATE logins SET last_used_at = ?, idle_at = ? WHERE id = ? AND `+loginLives,
		now.UnixNano(), idle.UnixNano(), id, now.UnixNano(), now.UnixNano())
	if err = mustChange(r, err); err != nil {
		return fmt.Errorf("use login: %w", err)
	}
	return nil
}

// Logins returns all logins that have not expired, oldest first.
func (s *Store) Logins(ctx context.Context, now time.Time) ([]Login, error) {
	list, err := collect(ctx, s.read, scanLogin, `SELECT `+loginColumns+` FROM logins WHERE `+loginLives+` ORDER BY created_at, id`,
		now.UnixNano(), now.UnixNano())
	if err != nil {
		return nil, fmt.Errorf("list logins: %w", err)
	}
	return list, nil
}

// DeleteLogin removes the login with that id, or returns ErrNotFound.
func (s *Store) DeleteLogin(ctx context.Context, id string) error {
	r, err := s.write.ExecContext(ctx, `DELETE FROM logins WHERE id = ?`, id)
	if err = mustChange(r, err); err != nil {
		return fmt.Errorf("remove login %s: %w", id, err)
	}
	return nil
}

// DeleteLogins removes all logins and all login links, and returns the ids of the
// logins.
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
	return collect(ctx, s.write, scanID, `DELETE FROM logins RETURNING id`)
}

// The private keys of the server, by their names.
const (
	ServerKey = "server" // by which it proves to browsers who it is
	PushKey   = "push"   // by which push services know it
)

// Key returns a private key of the server, in the encoding of generate. If none of
// that name is stored, it calls generate and stores the result.
func (s *Store) Key(ctx context.Context, name string, generate func() ([]byte, error)) (key []byte, err error) {
	const look = `SELECT key FROM keys WHERE name = ?`
	err = s.read.QueryRowContext(ctx, look, name).Scan(&key)
	if errors.Is(err, sql.ErrNoRows) {
		if key, err = generate(); err != nil {
			return nil, err
		}
		if _, err = s.write.ExecContext(ctx, `INSERT OR IGNORE INTO keys (name, key) VALUES (?, ?)`, name, key); err == nil {
			err = s.write.QueryRowContext(ctx, look, name).Scan(&key)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("key %s: %w", name, err)
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
