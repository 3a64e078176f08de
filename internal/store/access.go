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
	// ScopeOwn is what a session's own processes may do: report what its program
	// does, and start its workers. Only SessionOfSecret proves it.
	ScopeOwn Scope = "own"
)

// Token is the record of an API token. The store has only a hash of its secret.
type Token struct {
	ID        string // made by terminal.NewID
	Label     string
	Scope     Scope
	SessionID string // with ScopeSession, else ""
	CreatedAt time.Time
	// ExpiresAt is zero for a token that does not expire.
	ExpiresAt time.Time
	// LastUsedAt is zero for a token that was never used.
	LastUsedAt time.Time
	// Login is the id of the login whose browser made it, or made the token that
	// made it. It is "" if a process of this user did. The login may have ended.
	Login string
	// MadeBy is the id of the token that made it, "" for none.
	MadeBy string
}

// NewSecret returns a random secret of 130 bits, for a token or a login link. The
// store keeps only its hash, so it can be shown only once.
func NewSecret() string { return rand.Text() }

// hash returns the form in which a secret is stored. A plain hash protects
// secrets in a stolen database, because they are random and long. A lookup by
// hash takes the same time however much of a guess is right.
func hash(secret string) []byte {
	sum := sha256.Sum256([]byte(secret))
	return sum[:]
}

const tokenColumns = `id, label, scope, session_id, created_at, expires_at, last_used_at, login, made_by`

// CreateToken stores t with the hash of secret. If what makes it, the token MadeBy,
// else the login Login, was removed meanwhile, the error is ErrNotFound: a request
// that was under way when its credential ended leaves no token.
func (s *Store) CreateToken(ctx context.Context, secret string, t Token) error {
	r, err := s.write.ExecContext(ctx,
		`INSERT INTO tokens (hash, id, label, scope, session_id, created_at, expires_at, login, made_by)
			SELECT ?, ?, ?, ?, ?, ?, ?, ?, ? WHERE `+makerLives,
		hash(secret), t.ID, t.Label, string(t.Scope), t.SessionID, t.CreatedAt.UnixNano(), optionalNano(t.ExpiresAt), t.Login, t.MadeBy,
		t.MadeBy, t.MadeBy, t.Login, t.Login)
	if err = mustChange(r, err); err != nil {
		return fmt.Errorf("store token %s: %w", t.Label, err)
	}
	return nil
}

// tokenUseStep is the precision of LastUsedAt. It bounds the writes for a token
// that is used all the time.
const tokenUseStep = time.Minute

// UseToken returns the token with that secret and records its use, to the minute.
// If the token is unknown or has expired, the error is ErrNotFound.
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

func scanToken(row scanner) (Token, error) {
	var t Token
	var created int64
	var expires, used *int64
	err := row.Scan(&t.ID, &t.Label, &t.Scope, &t.SessionID, &created, &expires, &used, &t.Login, &t.MadeBy)
	t.CreatedAt, t.ExpiresAt, t.LastUsedAt = fromNano(created), fromOptional(expires), fromOptional(used)
	return t, err
}

// CreateLoginLink stores a login link. UseLoginLink accepts its secret once, and
// only before expires.
func (s *Store) CreateLoginLink(ctx context.Context, secret string, now, expires time.Time) error {
	_, err := s.write.ExecContext(ctx, `INSERT INTO login_links (hash, created_at, expires_at) VALUES (?, ?, ?)`,
		hash(secret), now.UnixNano(), expires.UnixNano())
	if err != nil {
		return fmt.Errorf("store login link: %w", err)
	}
	return nil
}

// UseLoginLink uses up the link with that secret. Of several callers with the
// same secret, one succeeds. If the link is unknown, used or expired, the error is
// ErrNotFound.
func (s *Store) UseLoginLink(ctx context.Context, secret string, now time.Time) error {
	// Strangers may guess. A wrong guess must not wait for a writer or block one.
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

// optionalNano returns t in nanoseconds, or nil for the zero time.
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
