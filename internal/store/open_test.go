package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/pressly/goose/v3"

	"middleman/workspace"
)

// refused checks that neither way of opening takes the file, and that it
// stays as it is.
func refused(t *testing.T, path string, check func(error)) {
	t.Helper()
	before, err := os.ReadFile(path)
	must(t, err)
	for _, open := range []func(context.Context, string) (*Store, error){Open, OpenReadOnly} {
		s, err := open(ctx, path)
		if err == nil {
			s.Close()
		}
		check(err)
	}
	after, err := os.ReadFile(path)
	must(t, err)
	if string(before) != string(after) {
		t.Error("the file was changed")
	}
	if backups, err := filepath.Glob(path + ".backup*"); err != nil || backups != nil {
		t.Errorf("backups %v, %v", backups, err)
	}
}

func TestNewerDatabase(t *testing.T) {
	path := filepath.Join(t.TempDir(), "middleman.db")
	s, err := Open(ctx, path)
	must(t, err)
	_, err = s.write.Exec(`INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, 1)`)
	must(t, err)
	must(t, s.Close())
	refused(t, path, func(err error) {
		var newer *schemaError
		if !errors.As(err, &newer) || newer.path != path || newer.found != 9999 || newer.known < 1 || newer.known > 100 {
			t.Errorf("error %v", err)
		}
	})
}

func TestDamagedDatabase(t *testing.T) {
	tests := []struct {
		name  string
		spoil func(path string)
	}{
		{"text", func(path string) { must(t, os.WriteFile(path, []byte(strings.Repeat("no database\n", 100)), 0o600)) }},
		{"a few bytes", func(path string) { must(t, os.WriteFile(path, []byte("x"), 0o600)) }},
		{"first page", func(path string) { overwrite(t, path, 100, 900) }},
		{"somebody else's", func(path string) {
			must(t, os.Remove(path))
			db, err := sql.Open("sqlite", path)
			must(t, err)
			_, err = db.Exec(`CREATE TABLE t (x)`)
			must(t, errors.Join(err, db.Close()))
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "middleman.db")
			s, err := Open(ctx, path)
			must(t, err)
			must(t, s.Close())
			tt.spoil(path)
			refused(t, path, func(err error) {
				var damaged *damagedError
				if !errors.As(err, &damaged) || damaged.Path != path || strings.Contains(err.Error(), "\n") {
					t.Errorf("error %v", err)
				}
			})
		})
	}
}

func overwrite(t *testing.T, path string, offset int64, n int) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	must(t, err)
	_, err = f.WriteAt([]byte(strings.Repeat("\xa5", n)), offset)
	must(t, errors.Join(err, f.Close()))
}

func TestDamagedRowsAreSeenByTheServer(t *testing.T) {
	path := filepath.Join(t.TempDir(), "middleman.db")
	s, err := Open(ctx, path)
	must(t, err)
	must(t, s.Close())
	overwrite(t, path, 4096, 4096)
	_, err = Open(ctx, path)
	var damaged *damagedError
	if !errors.As(err, &damaged) {
		t.Errorf("error %v", err)
	}
}

func TestOpenReadOnly(t *testing.T) {
	path := filepath.Join(t.TempDir(), "middleman.db")
	_, err := OpenReadOnly(ctx, path)
	wantErr(t, err, fs.ErrNotExist)

	s := openAt(t, path) // stays open, so what it writes is in the -wal
	w := newWorkspace(1)
	must(t, s.CreateWorkspace(ctx, w))
	r, err := OpenReadOnly(ctx, path)
	must(t, err)
	defer r.Close()
	if got, err := r.Workspace(ctx, w.ID); err != nil || got != w {
		t.Errorf("got %+v, %v", got, err)
	}
	if err := r.CreateWorkspace(ctx, newWorkspace(2)); err == nil {
		t.Error("a store that is open for reading was written")
	}
}

// migrations are ours and n more, of which the last is sql.
func migrations(t *testing.T, n int, sql string) fs.FS {
	own, err := migrationFS()
	must(t, err)
	known, err := newest(own)
	must(t, err)
	all := fstest.MapFS{}
	names, err := fs.Glob(own, "*.sql")
	must(t, err)
	for _, name := range names {
		data, err := fs.ReadFile(own, name)
		must(t, err)
		all[name] = &fstest.MapFile{Data: data}
	}
	for i := range n {
		text := fmt.Sprintf("CREATE TABLE later_%d (x INTEGER) STRICT;", i)
		if i == n-1 {
			text = sql
		}
		all[fmt.Sprintf("%05d_later.sql", known+int64(i)+1)] = &fstest.MapFile{Data: []byte("-- +goose Up\n" + text + "\n")}
	}
	return all
}

func TestMigrationKeepsBackups(t *testing.T) {
	path := filepath.Join(t.TempDir(), "middleman.db")
	s, err := Open(ctx, path)
	must(t, err)
	must(t, s.CreateWorkspace(ctx, newWorkspace(1)))
	must(t, s.Close())
	backups := func() []string {
		list, err := filepath.Glob(path + ".backup*")
		must(t, err)
		return list
	}
	if got := backups(); got != nil {
		t.Fatalf("a new database has backups %v", got)
	}
	const rounds = keepBackups + 2
	for n := 1; n <= rounds; n++ {
		s, err := openWith(ctx, path, migrations(t, n, "CREATE TABLE last_"+fmt.Sprint(n)+" (x INTEGER) STRICT;"))
		must(t, err)
		if w, err := s.Workspace(ctx, "w1"); err != nil || w != newWorkspace(1) {
			t.Errorf("after migration %d: %+v, %v", n, w, err)
		}
		must(t, s.Close())
	}
	got := backups()
	if len(got) != keepBackups {
		t.Fatalf("backups %v, want %d", got, keepBackups)
	}
	for _, name := range got {
		info, err := os.Stat(name)
		if err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	version, err := inspect(ctx, got[keepBackups-1], true)
	own, ownErr := migrationFS()
	must(t, ownErr)
	known, ownErr := newest(own)
	must(t, ownErr)
	if want := known + rounds - 1; err != nil || version != want {
		t.Errorf("the newest backup has schema %d, %v, want %d", version, err, want)
	}
	refused(t, got[0], func(err error) { // newer than what this version knows
		var newer *schemaError
		if !errors.As(err, &newer) || newer.found <= newer.known {
			t.Errorf("error %v", err)
		}
	})
}

func TestMigrationThatFails(t *testing.T) {
	path := filepath.Join(t.TempDir(), "middleman.db")
	s, err := Open(ctx, path)
	must(t, err)
	must(t, s.CreateWorkspace(ctx, newWorkspace(1)))
	must(t, s.Close())
	_, err = openWith(ctx, path, migrations(t, 1, "ALTER TABLE workspaces ADD COLUMN x TEXT; UPDATE nothing SET x = 1;"))
	if err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("error %v", err)
	}
	s = openAt(t, path) // the version before still works
	if w, err := s.Workspace(ctx, "w1"); err != nil || w != newWorkspace(1) {
		t.Errorf("got %+v, %v", w, err)
	}
}

func TestOlderDatabase(t *testing.T) {
	path := filepath.Join(t.TempDir(), "middleman.db")
	must(t, os.WriteFile(path, nil, 0o600))
	_, err := OpenReadOnly(ctx, path)
	var older *schemaError
	if !errors.As(err, &older) || older.path != path || older.found >= older.known {
		t.Errorf("error %v", err)
	}
}

// until returns our migrations up to that version.
func until(t *testing.T, version int64) fs.FS {
	own, err := migrationFS()
	must(t, err)
	files, err := fs.Glob(own, "*.sql")
	must(t, err)
	some := fstest.MapFS{}
	for _, name := range files {
		n, err := goose.NumericComponent(name)
		must(t, err)
		if n <= version {
			data, err := fs.ReadFile(own, name)
			must(t, err)
			some[name] = &fstest.MapFile{Data: data}
		}
	}
	return some
}

// A database from when names were unique among all workspaces comes through the
// migration with all its rows, and its tables still refer to each other.
func TestMigrationOfNames(t *testing.T) {
	path := filepath.Join(t.TempDir(), "middleman.db")
	s, err := openWith(ctx, path, until(t, 20))
	must(t, err)
	later := func(change, kind string) { // columns that were added later, which this version writes
		for _, added := range [][2]string{{"workspaces", "base_dir"}, {"sessions", "sandbox"}, {"sessions", "bundle"}, {"sessions", "settled"}} {
			for _, table := range []string{added[0], "deleted_" + added[0]} {
				_, err := s.write.Exec(`ALTER TABLE ` + table + ` ` + change + ` COLUMN ` + added[1] + ` ` + kind)
				must(t, err)
			}
		}
	}
	later(`ADD`, `TEXT NOT NULL DEFAULT ''`)
	for _, n := range []int{1, 2, 3} {
		w := newWorkspace(n)
		_, err := s.write.Exec(`INSERT INTO workspaces (`+workspaceColumns+`) VALUES (`+workspaceMarks+`)`, values(w)...)
		must(t, err)
		must(t, s.CreateSession(ctx, newSession(n, w.ID)))
		must(t, s.AddStage(ctx, w.ID, workspace.Stage{Name: "add", State: "done", Time: t0}))
	}
	_, err = s.write.Exec(`INSERT INTO creations (workspace_id, request) VALUES ('w3', x'7b7d')`)
	must(t, err)
	must(t, s.KeepDeleted(ctx, Deleted{newWorkspace(2), t0}, map[string]int64{"s2": 7}))
	later(`DROP`, ``)
	must(t, s.Close())

	s = openAt(t, path)
	for _, n := range []int{1, 3} {
		w := newWorkspace(n)
		if got, err := s.Workspace(ctx, w.ID); err != nil || got != w {
			t.Errorf("got %+v, %v, want %+v", got, err, w)
		}
		if got, err := s.Session(ctx, fmt.Sprintf("s%d", n)); err != nil || !reflect.DeepEqual(got, newSession(n, w.ID)) {
			t.Errorf("got %+v, %v", got, err)
		}
		if got, err := s.Stages(ctx, w.ID); err != nil || len(got) != 1 {
			t.Errorf("stages %+v, %v", got, err)
		}
	}
	if got, err := s.Creation(ctx, "w3"); err != nil || string(got) != "{}" {
		t.Errorf("creation %s, %v", got, err)
	}
	if list, _, err := s.Transcripts(ctx, "w2", Page{}); err != nil || len(list) != 1 || list[0].Bytes != 7 {
		t.Errorf("transcripts %+v, %v", list, err)
	}

	same := newWorkspace(4)
	same.Name = newWorkspace(1).Name
	wantErr(t, s.CreateWorkspace(ctx, same), ErrNameTaken)
	same.GitDir = "/other/.git"
	must(t, s.CreateWorkspace(ctx, same))
	if err := s.CreateSession(ctx, newSession(9, "none")); err == nil {
		t.Error("a session of no workspace was stored")
	}
	must(t, s.DeleteWorkspace(ctx, "w1"))
	_, err = s.Session(ctx, "s1")
	wantErr(t, err, ErrNotFound)
	if got, err := s.Stages(ctx, "w1"); err != nil || len(got) != 0 {
		t.Errorf("stages %+v, %v", got, err)
	}
}
