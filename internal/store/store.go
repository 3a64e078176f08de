package store

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/pressly/goose/v3"

	"middleman/internal/private"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

const (
	readers     = 4
	minPage     = 512 // bytes in SQLite's smallest page
	busyTimeout = 5 * time.Second
)

// Store is an open database. Its methods are safe for concurrent use.
type Store struct {
	path string
	// write has one connection, so that writers queue here and never get
	// SQLITE_BUSY. read has several, which WAL mode lets read meanwhile.
	write *sql.DB
	read  *sql.DB
}

// Open opens the database at path for the server; only one process may. It makes
// a missing file (0600, in a 0700 directory), and migrates an old one after it
// has written a backup beside it. If a newer version has migrated
// it, or if it is damaged, nothing is changed. The caller closes the store.
func Open(ctx context.Context, path string) (*Store, error) {
	migrations, err := migrationFS()
	if err != nil {
		return nil, err
	}
	return openWith(ctx, path, migrations)
}

func openWith(ctx context.Context, path string, migrations fs.FS) (*Store, error) {
	if err := prepareFile(path); err != nil {
		return nil, err
	}
	found, err := inspect(ctx, path, true)
	if err != nil {
		return nil, err
	}
	known, err := newest(migrations)
	if err != nil {
		return nil, err
	}
	if found > known {
		return nil, &schemaError{path, found, known}
	}
	s, err := connect(path)
	if err != nil {
		return nil, err
	}
	if err := s.prepare(ctx, migrations, found, known); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// OpenReadOnly opens the database at path for reading, whether a server runs or
// not. It never migrates. The error is fs.ErrNotExist for a missing file, and
// says what to do about an older or newer schema and about a damaged file. The
// caller closes the store.
func OpenReadOnly(ctx context.Context, path string) (*Store, error) {
	migrations, err := migrationFS()
	if err != nil {
		return nil, err
	}
	known, err := newest(migrations)
	if err != nil {
		return nil, err
	}
	if err := private.Dir(filepath.Dir(path)); err != nil {
		return nil, fmt.Errorf("open database %s: %w", path, err)
	}
	if err := checkFiles(path); err != nil {
		return nil, fmt.Errorf("open database %s: %w", path, err)
	}
	found, err := inspect(ctx, path, false)
	switch {
	case err != nil:
		return nil, err
	case found != known:
		return nil, &schemaError{path, found, known}
	}
	db, err := openDB(path, readOnly, readers)
	if err != nil {
		return nil, err
	}
	return &Store{path: path, write: db, read: db}, nil
}

// Close closes the database. No other method may run meanwhile, or be called
// afterwards.
func (s *Store) Close() error {
	err := s.read.Close()
	if s.write != s.read {
		err = errors.Join(err, s.write.Close())
	}
	if err != nil {
		return fmt.Errorf("close database %s: %w", s.path, err)
	}
	return nil
}

// checkFiles refuses a database file, or a file that SQLite keeps beside it, that
// private.CheckFile refuses. Missing files pass.
func checkFiles(path string) error {
	for _, suffix := range []string{"", "-wal", "-shm", "-journal"} {
		if err := private.CheckFile(path + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// prepareFile makes a missing directory and file with the right modes, because
// SQLite would apply the umask. An empty file is a valid empty database.
func prepareFile(path string) error {
	if !filepath.IsAbs(path) {
		return fmt.Errorf("open database %s: the path must be absolute", path)
	}
	dir := filepath.Dir(path)
	if err := private.MakeDir(dir); err != nil {
		return fmt.Errorf("open database %s: %w", path, err)
	}
	err := checkFiles(path)
	if err == nil {
		var f *os.File
		if f, err = private.Append(path); err == nil {
			err = f.Close()
		}
	}
	if err != nil {
		return fmt.Errorf("open database %s: %w", path, err)
	}
	return nil
}

func connect(path string) (*Store, error) {
	write, err := openDB(path, readWrite, 1)
	if err != nil {
		return nil, err
	}
	read, err := openDB(path, readOnly, readers)
	if err != nil {
		return nil, errors.Join(err, write.Close())
	}
	return &Store{path: path, write: write, read: read}, nil
}

// prepare migrates the database, and drops the last server's claims on requests.
func (s *Store) prepare(ctx context.Context, migrations fs.FS, found, known int64) error {
	if found > 0 && found < known {
		if err := s.backup(ctx, found, time.Now()); err != nil {
			return err
		}
	}
	if found < known {
		if err := s.migrate(ctx, migrations); err != nil {
			return err
		}
	}
	// Only one server writes at a time. So a request without an answer ended with
	// the previous server, and its sender may repeat it.
	if _, err := s.write.ExecContext(ctx, `DELETE FROM idempotency_keys WHERE status IS NULL`); err != nil {
		return fmt.Errorf("open database %s: %w", s.path, err)
	}
	return nil
}

func (s *Store) migrate(ctx context.Context, migrations fs.FS) error {
	p, err := newProvider(s.write, migrations)
	if err != nil {
		return err
	}
	if _, err := p.Up(ctx); err != nil {
		return fmt.Errorf("migrate database %s: %w", s.path, err)
	}
	return nil
}

func newProvider(db *sql.DB, migrations fs.FS) (*goose.Provider, error) {
	p, err := goose.NewProvider(goose.DialectSQLite3, db, migrations,
		goose.WithLogger(goose.NopLogger()), goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return nil, fmt.Errorf("load migrations: %w", err)
	}
	return p, nil
}

func migrationFS() (fs.FS, error) {
	sub, err := fs.Sub(migrationFiles, "migrations")
	if err != nil {
		return nil, fmt.Errorf("load migrations: %w", err)
	}
	return sub, nil
}

// newest returns the version of the last migration. File names of migrations
// begin with it.
func newest(migrations fs.FS) (int64, error) {
	names, err := fs.Glob(migrations, "*.sql")
	if err != nil {
		return 0, fmt.Errorf("load migrations: %w", err)
	}
	var last int64
	for _, name := range names {
		version, err := goose.NumericComponent(name)
		if err != nil {
			return 0, fmt.Errorf("load migrations: %s: %w", name, err)
		}
		last = max(last, version)
	}
	return last, nil
}

// inspect returns the schema version of the file at path, 0 for an empty one. It
// does not change the file. If thorough, it also checks every page.
func inspect(ctx context.Context, path string, thorough bool) (version int64, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, fmt.Errorf("open database: %w", err)
	}
	if n := info.Size(); n > 0 && n < minPage {
		// SQLite takes so short a file for an empty database and overwrites it.
		return 0, &damagedError{Path: path, Err: fmt.Errorf("it has %d bytes", n)}
	}
	db, err := openDB(path, readOnly, 1)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	version, err = readVersion(ctx, db)
	if err == nil && thorough {
		err = quickCheck(ctx, db)
	}
	if isDamage(err) || errors.Is(err, errForeign) {
		return 0, &damagedError{Path: path, Err: err}
	}
	if err != nil {
		return 0, fmt.Errorf("read database %s: %w", path, err)
	}
	return version, nil
}

var errForeign = errors.New("it does not have the schema of middleman")

func readVersion(ctx context.Context, db *sql.DB) (int64, error) {
	var tables, ours int
	err := db.QueryRowContext(ctx, `SELECT count(*), count(*) FILTER (WHERE name = 'goose_db_version')
		FROM sqlite_schema WHERE type = 'table'`).Scan(&tables, &ours)
	if err != nil {
		return 0, err
	}
	switch {
	case tables == 0:
		return 0, nil
	case ours == 0:
		return 0, errForeign
	}
	var version int64
	err = db.QueryRowContext(ctx, `SELECT coalesce(max(version_id), 0) FROM goose_db_version`).Scan(&version)
	return version, err
}

func quickCheck(ctx context.Context, db *sql.DB) error {
	var result string
	if err := db.QueryRowContext(ctx, `PRAGMA quick_check(1)`).Scan(&result); err != nil {
		return err
	}
	if result != "ok" {
		return fmt.Errorf("%w: %s", errForeign, result)
	}
	return nil
}

// access is a value of SQLite's URI parameter mode.
type access string

const (
	readOnly  access = "ro"
	readWrite access = "rw"
)

// openDB returns a pool of connections. They are opened when they are needed.
func openDB(path string, a access, connections int) (*sql.DB, error) {
	q := url.Values{}
	q.Set("mode", string(a))
	q.Add("_pragma", fmt.Sprintf("busy_timeout(%d)", busyTimeout.Milliseconds()))
	q.Add("_pragma", "foreign_keys(1)")
	if a == readWrite {
		q.Add("_pragma", "journal_mode(WAL)")
		// With WAL, NORMAL never damages the file. A power failure may lose the
		// last writes, but sessions and worktrees are found again on disk. FULL
		// would sync at each of the dozen small writes for one workspace.
		q.Add("_pragma", "synchronous(NORMAL)")
		q.Set("_txlock", "immediate")
	}
	slashed := filepath.ToSlash(path)
	if !strings.HasPrefix(slashed, "/") {
		slashed = "/" + slashed // such as C:/... on Windows
	}
	u := url.URL{Scheme: "file", Path: slashed, RawQuery: q.Encode()}
	db, err := sql.Open("sqlite", u.String())
	if err != nil {
		return nil, fmt.Errorf("open database %s: %w", path, err)
	}
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
	return db, nil
}
