//go:build linux || darwin

package server_test

import (
	"database/sql"
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"middleman/internal/api"
	"middleman/internal/bundle"
)

// bundleText is a bundle whose profiles run programs that every system has.
func bundleText(revision, arg string) json.RawMessage {
	return json.RawMessage(`{"schema":1,"id":"team","revision":` + revision + `,"created":"2026-11-24T01:02:03Z",
		"profiles":{"plain":{"command":["cat","` + arg + `"]}}}`)
}

// statement changes the database behind the server's back.
func (r *running) statement(query string) {
	r.t.Helper()
	db, err := sql.Open("sqlite", r.place.dirs.Database())
	if err != nil {
		r.t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(query); err != nil {
		r.t.Fatal(err)
	}
}

func TestBundlesAreStoredByDigest(t *testing.T) {
	r := newPlace(t).serve(t)
	refused := func(a answer, status int, code, field string) {
		t.Helper()
		if p := a.problem(t); a.status != status || p.Code != code || p.Field != field {
			t.Errorf("%d %s %q, want %d %s %q: %s", a.status, p.Code, p.Field, status, code, field, p.Detail)
		}
	}
	first := get[api.PushedBundle](r, "POST", "/bundles", bundleText("1", "-u"))
	if !first.New || first.Bundle.ID != "team" || !bundle.ValidDigest(first.Bundle.Digest) || !first.Bundle.Newest {
		t.Fatalf("%+v", first)
	}
	if again := get[api.PushedBundle](r, "POST", "/bundles", bundleText("1", "-u")); again.New || again.Bundle.Digest != first.Bundle.Digest {
		t.Errorf("%+v", again)
	}
	refused(r.call("POST", "/bundles", bundleText("1", "-v")), 409, api.CodeBundleChanged, "revision")
	refused(r.call("POST", "/bundles", bundleText("2", "../x")), 422, api.CodeBundleInvalid, "profiles.plain.command[1]")
	refused(r.call("POST", "/bundles", []byte("{")), 422, api.CodeBundleInvalid, "document")
	refused(r.call("POST", "/bundles", json.RawMessage(`{"digest":"`+strings.Repeat("ab", 32)+`",`+string(bundleText("2", "-u")[1:]))), 409, api.CodeBundleDigest, "digest")
	if a := r.call("POST", "/bundles", json.RawMessage(`"`+strings.Repeat("x", 2<<20)+`"`)); a.status != 413 {
		t.Errorf("2 MB: %d", a.status)
	}
	second := get[api.PushedBundle](r, "POST", "/bundles", bundleText("2", "-v")).Bundle
	if list := get[api.Bundles](r, "GET", "/bundles?limit=1", nil); len(list.Bundles) != 1 || list.Next == "" || list.Bundles[0].Newest {
		t.Errorf("%+v", list)
	}
	if newest := get[api.Bundle](r, "GET", "/bundles/team", nil); newest.Digest != second.Digest || newest.Revision != 2 {
		t.Errorf("%+v", newest)
	}
	shown := get[api.Bundle](r, "GET", "/bundles/team?digest="+first.Bundle.Digest, nil)
	if b, err := bundle.Decode(shown.Content); err != nil || b.Sum() != first.Bundle.Digest {
		t.Errorf("%v: %s", err, shown.Content)
	}
	for _, id := range []string{"?", "&", "#", "=", "%", "a/b", "%2e%2e", "a?digest=b"} {
		refused(r.call("GET", "/bundles/"+url.PathEscape(id)+"?digest="+url.QueryEscape(first.Bundle.Digest), nil), 404, api.CodeBundleMissing, "")
	}
	if a := get[api.RemovedBundles](r, "DELETE", "/bundles/team?dry_run=1", nil); len(a.Bundles) != 2 || !a.DryRun {
		t.Errorf("%+v", a)
	}
	get[api.RemovedBundles](r, "DELETE", "/bundles/team?digest="+second.Digest, nil)
	if newest := get[api.Bundle](r, "GET", "/bundles/team", nil); newest.Digest != first.Bundle.Digest || !newest.Newest {
		t.Errorf("%+v", newest)
	}
	get[api.RemovedBundles](r, "DELETE", "/bundles/team", nil)
	refused(r.call("DELETE", "/bundles/team", nil), 404, api.CodeBundleMissing, "")
}

// A flipped bit of the digest, or of what is stored, is found when it is asked for.
func TestBundleAvailability(t *testing.T) {
	r := newPlace(t).serve(t)
	digest := get[api.PushedBundle](r, "POST", "/bundles", bundleText("1", "-u")).Bundle.Digest
	check := func(id, digest, want string) {
		t.Helper()
		v := get[api.Availability](r, "GET", "/bundles/"+id+"/availability?digest="+url.QueryEscape(digest), nil)
		if v.Code != want || v.Available != (want == "") || (v.Reason == "") != (want == "") {
			t.Errorf("%+v", v)
		}
	}
	check("team", digest, "")
	check("other", digest, api.CodeBundleMissing)
	for i := range digest {
		flipped := []byte(digest)
		flipped[i] ^= 1
		check("team", string(flipped), api.CodeBundleDigest)
	}
	check("team", strings.ToUpper(digest), api.CodeBundleDigest)
	check("team", "?a=b&c#%2f", api.CodeBundleDigest)
	r.statement(`UPDATE bundles SET content = CAST(replace(CAST(content AS TEXT), '-u', '-t') AS BLOB)`)
	check("team", digest, api.CodeBundleStore)
	if v := get[api.Bundle](r, "GET", "/bundles/team", nil); v.Problem == "" || v.Content != nil {
		t.Errorf("%+v", v)
	}
	if again := get[api.PushedBundle](r, "POST", "/bundles", bundleText("1", "-u")); !again.New {
		t.Errorf("a push does not repair it: %+v", again)
	}
	check("team", digest, "")
}

// Without its store nothing is launched by a bundle, and what runs goes on.
func TestLostStoreOfBundles(t *testing.T) {
	r := newPlace(t).serve(t)
	w := r.workspace("lost", &api.NewSession{Command: []string{"cat"}})
	r.statement(`DROP TABLE bundles`)
	for _, a := range []answer{r.call("GET", "/bundles", nil), r.call("GET", "/bundles/team", nil), r.call("POST", "/bundles", bundleText("1", "-u")), r.call("DELETE", "/bundles/team", nil)} {
		if p := a.problem(t); a.status != 500 || p.Code != api.CodeBundleStore || strings.Contains(p.Detail, r.place.dirs.Data) {
			t.Errorf("%d %s", a.status, a.body)
		}
	}
	id := w.Sessions[0].ID
	r.call("POST", "/sessions/"+id+"/input", []byte("still here\n"))
	r.until("the program answers", func() bool {
		return strings.Contains(string(r.call("GET", "/sessions/"+id+"/capture", nil).body), "still here")
	})
}
