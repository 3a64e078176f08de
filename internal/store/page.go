package store

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Limits of a page.
const (
	DefaultLimit = 100
	MaxLimit     = 500
)

// Page says which part of a list to return. Lists are ordered by creation,
// oldest first, so that a cursor stays right while rows come and go.
type Page struct {
	// Cursor is what the page before gave as next, or "" for the first.
	Cursor string
	// Limit is how many at most; 0 means DefaultLimit, more than MaxLimit
	// means MaxLimit, and a negative one means all.
	Limit int
}

// limit is negative for none.
func (p Page) limit() int {
	switch {
	case p.Limit < 0:
		return -1
	case p.Limit == 0:
		return DefaultLimit
	}
	return min(p.Limit, MaxLimit)
}

// sqlLimit asks for one row more than the page has, which tells whether there
// is a next page. A negative LIMIT means none.
func (p Page) sqlLimit() int {
	if limit := p.limit(); limit > 0 {
		return limit + 1
	}
	return -1
}

// cut takes the row that sqlLimit asked for in addition off, and returns the
// cursor that leads to it.
func cut[T any](list []T, p Page, cursor func(T) string) (page []T, next string) {
	limit := p.limit()
	if limit < 0 || len(list) <= limit {
		return list, ""
	}
	return list[:limit], cursor(list[limit-1])
}

// after is the position that the page begins behind.
func (p Page) after() (createdAt int64, id string, err error) {
	if p.Cursor == "" {
		return -1 << 63, "", nil
	}
	raw, err := base64.RawURLEncoding.DecodeString(p.Cursor)
	if err != nil {
		return 0, "", fmt.Errorf("%w: %q", ErrBadCursor, p.Cursor)
	}
	at, id, ok := strings.Cut(string(raw), " ")
	createdAt, err = strconv.ParseInt(at, 10, 64)
	if !ok || err != nil {
		return 0, "", fmt.Errorf("%w: %q", ErrBadCursor, p.Cursor)
	}
	return createdAt, id, nil
}

func cursorAt(createdAt time.Time, id string) string {
	return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%d %s", createdAt.UnixNano(), id))
}

// scanner is a *sql.Row or *sql.Rows.
type scanner interface{ Scan(dest ...any) error }

func fromNano(n int64) time.Time { return time.Unix(0, n).UTC() }
