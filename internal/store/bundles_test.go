package store

import (
	"slices"
	"testing"

	"middleman/internal/bundle"
)

func TestBundles(t *testing.T) {
	s := open(t)
	add := func(b Bundle, want bool, wanted error) {
		t.Helper()
		added, err := s.AddBundle(ctx, b)
		if added != want {
			t.Errorf("%s: added %v", b.Digest, added)
		}
		wantErr(t, err, wanted)
	}
	one := Bundle{Digest: "d1", ID: "a", Revision: 1, Content: []byte("one"), StoredAt: t0}
	add(one, true, nil)
	add(one, false, nil)
	add(Bundle{Digest: "d2", ID: "a", Revision: 1, Content: []byte("other"), StoredAt: t0}, false, ErrRevisionTaken)
	add(Bundle{Digest: "d3", ID: "a", Revision: 3, Content: []byte("three"), StoredAt: t0}, true, nil)
	add(Bundle{Digest: "d4", ID: "b", Revision: 1, Content: []byte("b"), StoredAt: t0}, true, nil)
	if _, err := s.write.Exec(`UPDATE bundles SET content = x'00' WHERE digest = 'd1'`); err != nil {
		t.Fatal(err)
	}
	add(one, true, nil) // what is damaged is replaced
	if b, err := s.Bundle(ctx, "d1"); err != nil || string(b.Content) != "one" || !b.StoredAt.Equal(t0) {
		t.Errorf("%+v, %v", b, err)
	}
	revisions, err := s.Revisions(ctx, "a")
	if err != nil || len(revisions) != 2 || revisions[0].Revision != 3 {
		t.Errorf("%+v, %v", revisions, err)
	}
	var all []string
	for p := (Page{Limit: 1}); ; {
		list, next, err := s.Bundles(ctx, p)
		must(t, err)
		for _, b := range list {
			all = append(all, b.Digest)
		}
		if p.Cursor = next; next == "" {
			break
		}
	}
	if !slices.Equal(all, []string{"d1", "d3", "d4"}) {
		t.Errorf("%q", all)
	}
	wantErr(t, s.DeleteBundles(ctx, []string{"d3", "none"}), ErrNotFound)
	if _, err := s.Bundle(ctx, "d3"); err != nil {
		t.Errorf("one of several that cannot be removed: %v", err)
	}
	must(t, s.DeleteBundles(ctx, []string{"d3", "d4"}))
	_, err = s.Bundle(ctx, "d3")
	wantErr(t, err, ErrNotFound)
}

func TestBundleUsers(t *testing.T) {
	s := open(t)
	must(t, s.CreateWorkspace(ctx, newWorkspace(1)))
	launched := bundle.Launched{ID: "a", Revision: 1, Digest: "d1", Profile: "p", Grants: []bundle.Grant{{Asked: "git-policy:commit", Result: bundle.Granted, Rule: "built-in"}}}
	must(t, s.CreateSession(ctx, Session{ID: "s1", WorkspaceID: "w1", Name: "x", Argv: []string{"x"}, CreatedAt: t0, Bundle: &launched}))
	must(t, s.CreateSession(ctx, Session{ID: "s2", WorkspaceID: "w1", Name: "y", Argv: []string{"x"}, CreatedAt: t0}))
	for digest, want := range map[string][]string{"d1": {"name-1/x"}, "d": nil, "d2": nil} {
		if got, err := s.BundleUsers(ctx, digest); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v", digest, got, err)
		}
	}
	if x, err := s.Session(ctx, "s1"); err != nil || x.Bundle == nil || x.Bundle.Digest != "d1" || len(x.Bundle.Grants) != 1 {
		t.Errorf("%+v, %v", x.Bundle, err)
	}
}
