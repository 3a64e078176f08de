package store

import (
	"errors"
	"fmt"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"
)

// Errors that callers branch on; test with errors.Is.
var (
	// ErrNotFound: there is no such row, or it has expired.
	ErrNotFound = errors.New("not found")
	// ErrNameTaken: a workspace, or a session of that workspace, has the name.
	ErrNameTaken = errors.New("name is taken")
	// ErrBadCursor: a page was asked for with a cursor that we never gave.
	ErrBadCursor = errors.New("cursor is not valid")
	// ErrKeyReused: an idempotency key came back with another request.
	ErrKeyReused = errors.New("idempotency key was used for another request")
	// ErrNoPorts: all ports of the range are somebody's.
	ErrNoPorts = errors.New("no ports are free")
	// ErrKeyBusy: the request with that idempotency key is still being answered.
	ErrKeyBusy = errors.New("request with this idempotency key is in progress")
)

// NewerError refuses a database that a newer version has written. Nothing of
// it was changed.
type NewerError struct {
	Path         string
	Found, Known int64
}

func (e *NewerError) Error() string {
	return fmt.Sprintf("database %s has schema %d, this version of middleman knows up to %d: "+
		"use the newer version, or put back a backup from beside it", e.Path, e.Found, e.Known)
}

// OlderError refuses to read a database that waits for its migration, which
// the server makes when it starts.
type OlderError struct {
	Path         string
	Found, Known int64
}

func (e *OlderError) Error() string {
	return fmt.Sprintf("database %s has schema %d, this version of middleman needs %d: "+
		"start the server once, it migrates", e.Path, e.Found, e.Known)
}

// DamagedError refuses a file that is not a sound database of ours. Nothing
// of it was changed.
type DamagedError struct {
	Path string
	Err  error
}

func (e *DamagedError) Error() string {
	return fmt.Sprintf("database %s is damaged or not middleman's (%v): move it away, with its -wal and -shm, "+
		"or put back a backup from beside it; sessions and worktrees on disk are not touched", e.Path, e.Err)
}

func (e *DamagedError) Unwrap() error { return e.Err }

// resultCode is SQLite's extended result code of err, or 0.
func resultCode(err error) int {
	var e *sqlite.Error
	if errors.As(err, &e) {
		return e.Code()
	}
	return 0
}

func isUnique(err error) bool {
	code := resultCode(err)
	return code == sqlite3.SQLITE_CONSTRAINT_UNIQUE || code == sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY
}

func isForeignKey(err error) bool {
	return resultCode(err) == sqlite3.SQLITE_CONSTRAINT_FOREIGNKEY
}

// IsFull reports whether err says that the disk, or the database, has no room.
func IsFull(err error) bool {
	code := resultCode(err)
	return code&0xff == sqlite3.SQLITE_FULL || code == sqlite3.SQLITE_IOERR_SHMSIZE
}

// isDamage tells the primary result codes (the low byte) of a file that is
// not a sound database.
func isDamage(err error) bool {
	code := resultCode(err) & 0xff
	return code == sqlite3.SQLITE_CORRUPT || code == sqlite3.SQLITE_NOTADB
}
