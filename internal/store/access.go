package store

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"time"
)

// Scope is what a token allows.
type Scope string

// The scopes of a token.
const (
	ScopeFull    Scope = "full"
	ScopeRead    Scope = "read"
	ScopeSession Scope = "session" // watch one session, nothing else
)

// Token is what is known of an API token; its secret is not.
type Token struct {
	ID        string // ours, see terminal.NewID
	Label     string
	Scope     Scope
	SessionID string // with ScopeSession, else ""
	CreatedAt time.Time
	// ExpiresAt is zero for a token that does not expire.
	ExpiresAt time.Time
	// LastUsedAt is zero for a token that was never used.
	LastUsedAt time.Time
}

// NewSecret returns a random secret of 130 bits, for a token or a login
// link. Only its hash is ever stored, so the caller shows it once.
func NewSecret() string { return rand.Text() }

// hash is enough against a stolen database because secrets are random and
// long, and makes looking one up take the same time however much of it is
// right.
func hash(secret string) []byte {
	sum := sha256.Sum256([]byte(secret))
	return sum[:]
}

const tokenColumns = `id, label, scope, session_id, created_at, expires_at, last_used_at`

// CreateToken stores t for that secret.
func (s *Store) CreateToken(ctx context.Context, secret string, t Token) error {
	_, err := s.write.ExecContext(ctx,
		`INSERT INTO tokens (hash, id, label, scope, session_id, created_at, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?)`,
		hash(secret), t.ID, t.Label, string(t.Scope), t.SessionID, t.CreatedAt.UnixNano(), optionalNano(t.ExpiresAt))
	if err != nil {
		return fmt.Errorf("store token %s: %w", t.Label, err)
	}
	return nil
}

// tokenUseStep is how exact LastUsedAt is: a token that is used all the time
// is not written all the time.
const tokenUseStep = time.Minute

// UseToken returns the token with that secret and notes its use, to the
// minute. A token that is unknown or has expired is ErrNotFound.
func (s *Store) UseToken(ctx context.Context, secret string, now time.Time) (Token, error) {
	t, err := scanToken(s.read.QueryRowContext(ctx, `SELECT `+tokenColumns+` FROM tokens
		WHERE hash = ? AND (expires_at IS NULL OR expires_at > ?)`, hash(secret), now.UnixNano()))
	if err != nil {
		return Token{}, fmt.Errorf("look up token: %w", notFound(err))
	}
	if now.Sub(t.LastUsedAt) < tokenUseStep {
		return t, nil
	}
	if _, err := s.write.ExecContext(ctx, `UPDATE tokens SET last_used_at = ? WHERE id = ?`, now.UnixNano(), t.ID); err != nil {
		return Token{}, fmt.Errorf("note use of token %s: %w", t.Label, err)
	}
	t.LastUsedAt = fromNano(now.UnixNano())
	return t, nil
}

// Tokens returns all tokens, oldest first.
func (s *Store) Tokens(ctx context.Context) ([]Token, error) {
	list, err := collect(ctx, s.read, scanToken, `SELECT `+tokenColumns+` FROM tokens ORDER BY created_at, id`)
	if err != nil {
		return nil, fmt.Errorf("list tokens: %w", err)
	}
	return list, nil
}

// DeleteToken revokes the token with that id, or returns ErrNotFound.
func (s *Store) DeleteToken(ctx context.Context, id string) error {
	r, err := s.write.ExecContext(ctx, `DELETE FROM tokens WHERE id = ?`, id)
	if err = mustChange(r, err); err != nil {
		return fmt.Errorf("remove token %s: %w", id, err)
	}
	return nil
}

func scanToken(row scanner) (Token, error) {
	var t Token
	var created int64
	var expires, used *int64
	err := row.Scan(&t.ID, &t.Label, &t.Scope, &t.SessionID, &created, &expires, &used)
	t.CreatedAt, t.ExpiresAt, t.LastUsedAt = fromNano(created), fromOptional(expires), fromOptional(used)
	return t, err
}

// CreateLoginLink stores a link that UseLoginLink takes once until expires.
func (s *Store) CreateLoginLink(ctx context.Context, secret string, now, expires time.Time) error {
	_, err := s.write.ExecContext(ctx, `INSERT INTO login_links (hash, created_at, expires_at) VALUES (?, ?, ?)`,
		hash(secret), now.UnixNano(), expires.UnixNano())
	if err != nil {
		return fmt.Errorf("store login link: %w", err)
	}
	return nil
}

// UseLoginLink takes the link: of any number of callers with one secret, one
// succeeds. A link that is unknown, used or expired is ErrNotFound.
func (s *Store) UseLoginLink(ctx context.Context, secret string, now time.Time) error {
	// Anybody may guess: a wrong guess must not wait for, or hold up, a writer.
	var there int
	err := s.read.QueryRowContext(ctx, `SELECT 1 FROM login_links WHERE hash = ? AND expires_at > ?`, hash(secret), now.UnixNano()).Scan(&there)
	if err != nil {
		return fmt.Errorf("look up login link: %w", notFound(err))
	}
	r, err := s.write.ExecContext(ctx, `DELETE FROM login_links WHERE hash = ? AND expires_at > ?`, hash(secret), now.UnixNano())
	if err = mustChange(r, err); err != nil {
		return fmt.Errorf("use login link: %w", err)
	}
	return nil
}

// optionalNano is nil for the zero time.
func optionalNano(t time.Time) *int64 {
	if t.IsZero() {
		return nil
	}
	n := t.UnixNano()
	return &n
}

func fromOptional(n *int64) time.Time {
	if n == nil {
		return time.Time{}
	}
	return fromNano(*n)
}
