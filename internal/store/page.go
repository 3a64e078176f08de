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
	defaultLimit = 100
	maxLimit     = 500
)

// Page selects a part of a list. Lists are in the order of creation (deleted
// workspaces: of deletion), oldest first, so that a cursor stays valid while rows
// are added and removed.
type Page struct {
	// Cursor is the next of the previous page, or "" for the first page.
	Cursor string
	// Limit is the largest number of rows. 0 means 100, more than 500
	// means 500, and a negative value means all.
	Limit int
}

// limit returns the largest number of rows; a negative value means all.
func (p Page) limit() int {
	switch {
	case p.Limit < 0:
		return -1
	case p.Limit == 0:
		return defaultLimit
	}
	return min(p.Limit, maxLimit)
}

// sqlLimit returns the LIMIT for SQL: one row more than the page, which tells
// whether there is a next page. A negative LIMIT means no limit.
func (p Page) sqlLimit() int {
	if limit := p.limit(); limit > 0 {
		return limit + 1
	}
	return -1
}

// cut removes the additional row of sqlLimit and returns the cursor of the next
// page, which is the position of the last row of this one; "" at the end.
func cut[T any](list []T, p Page, cursor func(T) string) (page []T, next string) {
	limit := p.limit()
	if limit < 0 || len(list) <= limit {
		return list, ""
	}
	return list[:limit], cursor(list[limit-1])
}

// after decodes the cursor: the page begins after this position.
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
