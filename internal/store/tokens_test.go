package store

import (
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// A token needs a maker that is still there, so none is made behind a revocation.
func TestTokenNeedsItsMaker(t *testing.T) {
	s := open(t)
	must(t, s.CreateLogin(ctx, Login{ID: "l1", Key: []byte("public"), CreatedAt: t0, LastUsedAt: t0, IdleAt: t0.Add(time.Hour), ExpiresAt: t0.Add(time.Hour)}))
	make := func(id, login, by string) error {
		return s.CreateToken(ctx, NewSecret(), Token{ID: id, Label: id, Scope: ScopeFull, CreatedAt: t0, Login: login, MadeBy: by})
	}
	must(t, make("own", "", ""))
	must(t, make("a", "l1", ""))
	must(t, s.DeleteLogin(ctx, "l1")) // a logout keeps it
	wantErr(t, make("late", "l1", ""), ErrNotFound)
	wantErr(t, s.RotateToken(ctx, "own", NewSecret(), "l1", ""), ErrNotFound)
	must(t, make("b", "l1", "a"))
	must(t, make("c", "l1", "b"))
	must(t, s.RotateToken(ctx, "a", NewSecret(), "l1", "c")) // no circle in which it is its own maker
	must(t, s.RotateToken(ctx, "c", NewSecret(), "l1", "c"))
	list, err := s.Tokens(ctx)
	must(t, err)
	for i, want := range []struct{ id, by string }{{"a", ""}, {"b", "a"}, {"c", "b"}, {"own", ""}} {
		if list[i].ID != want.id || list[i].MadeBy != want.by {
			t.Errorf("token %s is made by %q, want %s by %q", list[i].ID, list[i].MadeBy, want.id, want.by)
		}
	}
	ids, err := s.DeleteToken(ctx, "b")
	must(t, err)
	if slices.Sort(ids); !slices.Equal(ids, []string{"b", "c"}) {
		t.Errorf("deleted %q", ids)
	}
	wantErr(t, make("later", "l1", "b"), ErrNotFound)
	ids, err = s.DeleteTokensOfLogin(ctx, "l1")
	must(t, err)
	if !slices.Equal(ids, []string{"a"}) {
		t.Errorf("deleted %q", ids)
	}
	if ids, err := s.DeleteTokensOfLogin(ctx, ""); err != nil || len(ids) > 0 {
		t.Errorf("no login led to %q, %v", ids, err)
	}
	if ids, err := s.DeleteTokensOfLogins(ctx); err != nil || len(ids) > 0 {
		t.Errorf("logins led to %q, %v", ids, err)
	}
}

// Tokens from before their makers were stored come through the migration.
func TestMigrationOfTokenMakers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "middleman.db")
	s, err := openWith(ctx, path, until(t, 29))
	must(t, err)
	secret := NewSecret()
	_, err = s.write.Exec(`INSERT INTO tokens (hash, id, label, scope, session_id, created_at) VALUES (?, 't1', 'old', 'full', '', ?)`, hash(secret), t0.UnixNano())
	must(t, err)
	must(t, s.Close())
	s = openAt(t, path)
	got, err := s.UseToken(ctx, secret, t0)
	must(t, err)
	if got.LastUsedAt = (time.Time{}); got != (Token{ID: "t1", Label: "old", Scope: ScopeFull, CreatedAt: t0}) {
		t.Errorf("got %+v", got)
	}
}
