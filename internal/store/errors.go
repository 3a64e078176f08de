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
	// ErrNameTaken: a workspace of that repository, or a session of that
	// workspace, has the name.
	ErrNameTaken = errors.New("name is taken")
	// ErrBadCursor: the cursor of a page is not one that a page returned.
	ErrBadCursor = errors.New("cursor is not valid")
	// ErrKeyReused: the idempotency key was used for a different request.
	ErrKeyReused = errors.New("idempotency key was used for another request")
	// ErrNoPorts: the range has not enough free ports in a row.
	ErrNoPorts = errors.New("no ports are free")
	// ErrKeyBusy: the request with that idempotency key is still being answered.
	ErrKeyBusy = errors.New("request with this idempotency key is in progress")
)

// schemaError is the error of opening a database that a newer version of
// middleman has migrated or, for reading only, one that the server has yet to
// migrate when it starts. The file was not changed.
type schemaError struct {
	path         string
	found, known int64
}

func (e *schemaError) Error() string {
	if e.found > e.known {
		return fmt.Sprintf("database %s has schema %d, this version of middleman knows up to %d: "+
			"use the newer version, or restore a backup from the same directory", e.path, e.found, e.known)
	}
	return fmt.Sprintf("database %s has schema %d, this version of middleman needs %d: "+
		"start the server once, it migrates", e.path, e.found, e.known)
}

// damagedError is the error of opening a file that is no sound database of
// middleman's. The file was not changed.
type damagedError struct {
	Path string
	Err  error
}

func (e *damagedError) Error() string {
	return fmt.Sprintf("database %s is damaged or not middleman's (%v): move it away, with its -wal and -shm, "+
		"or restore a backup from the same directory; sessions and worktrees on disk are not touched", e.Path, e.Err)
}

func (e *damagedError) Unwrap() error { return e.Err }

// resultCode returns SQLite's extended result code in err, or 0.
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

// IsFull reports whether err is SQLite's error for a full disk or database.
func IsFull(err error) bool {
	code := resultCode(err)
	return code&0xff == sqlite3.SQLITE_FULL || code == sqlite3.SQLITE_IOERR_SHMSIZE
}

// isDamage reports whether err has a primary result code (the low byte) of a file
// that is no sound database.
func isDamage(err error) bool {
	code := resultCode(err) & 0xff
	return code == sqlite3.SQLITE_CORRUPT || code == sqlite3.SQLITE_NOTADB
}
