package store

import (
	"path/filepath"
	"reflect"
	"testing"
	"time"
)

func TestExposed(t *testing.T) {
	s := openAt(t, filepath.Join(t.TempDir(), "middleman.db"))
	record := func(path, method, boot, session string) Exposed {
		return Exposed{Path: path, Method: method, Boot: boot, Session: session, Workspace: "w", At: t0}
	}
	must(t, s.Expose(ctx, []Exposed{record("/a", "landlock", "1", "s1"), record("/b", "landlock", "1", "s1")}))
	must(t, s.Expose(ctx, []Exposed{record("/a", "landlock", "2", "s2"), record("/a", "bubblewrap", "2", "s3")}))
	want := []Exposed{record("/a", "bubblewrap", "2", "s3"), record("/a", "landlock", "2", "s2"), record("/b", "landlock", "1", "s1")}
	if got, err := s.Exposed(ctx); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
	must(t, s.ForgetExposed(ctx, want[1]))
	if got, err := s.Exposed(ctx); err != nil || !reflect.DeepEqual(got, []Exposed{want[0], want[2]}) {
		t.Errorf("%+v, %v", got, err)
	}
	// Another directory at a path has a record of its own, and time does not go back.
	other := record("/b", "landlock", "2", "s4")
	other.Which, other.At = "8 1 5", t0.Add(time.Minute)
	must(t, s.Expose(ctx, []Exposed{other}))
	other.Session, other.At = "s5", t0
	must(t, s.Expose(ctx, []Exposed{other}))
	other.At = t0.Add(time.Minute)
	if got, err := s.Exposed(ctx); err != nil || !reflect.DeepEqual(got, []Exposed{want[0], want[2], other}) {
		t.Errorf("%+v, %v", got, err)
	}
	must(t, s.ForgetExposed(ctx, want[2]))
	if got, err := s.Exposed(ctx); err != nil || !reflect.DeepEqual(got, []Exposed{want[0], other}) {
		t.Errorf("%+v, %v", got, err)
	}
}

// Sessions from before the record are in it, those of deleted workspaces too.
func TestMigrationOfExposed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "middleman.db")
	s, err := openWith(ctx, path, until(t, 30))
	must(t, err)
	later := func(change, kind string) { // a column that was added later, which this version writes
		for _, table := range []string{"sessions", "deleted_sessions"} {
			_, err := s.write.Exec(`ALTER TABLE ` + table + ` ` + change + ` COLUMN settled ` + kind)
			must(t, err)
		}
	}
	later(`ADD`, `INTEGER NOT NULL DEFAULT 0`)
	for n, writable := range map[int]string{1: `["/a","/b"]`, 2: `["/c"]`, 3: ``} {
		w := newWorkspace(n)
		must(t, s.CreateWorkspace(ctx, w))
		session := newSession(n, w.ID)
		must(t, s.CreateSession(ctx, session))
		if writable != "" {
			_, err := s.write.Exec(`UPDATE sessions SET sandbox = ? WHERE id = ?`, `{"method":"landlock","writable":`+writable+`}`, session.ID)
			must(t, err)
		}
	}
	must(t, s.KeepDeleted(ctx, Deleted{newWorkspace(2), t0}, map[string]int64{"s2": 7}))
	later(`DROP`, ``)
	must(t, s.Close())

	s = openAt(t, path)
	must(t, s.SetBoot(ctx, "now"))
	record := func(path string, n int) Exposed {
		session := newSession(n, "")
		return Exposed{Path: path, Method: "landlock", Boot: "now", Session: session.ID, Workspace: newWorkspace(n).Name, At: session.CreatedAt}
	}
	if got, err := s.Exposed(ctx); err != nil || !reflect.DeepEqual(got, []Exposed{record("/a", 1), record("/b", 1), record("/c", 2)}) {
		t.Errorf("%+v, %v", got, err)
	}
	must(t, s.SetBoot(ctx, "later"))
	if got, err := s.Exposed(ctx); err != nil || len(got) != 3 || got[0].Boot != "now" {
		t.Errorf("%+v, %v", got, err)
	}
}
