package server_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"testing"

	"middleman/internal/api"
)

// The tokens of one login: what it made, what that made, and what it was told the
// secret of.
type tokensOf struct {
	made, chained, rotated, watch string // secrets
}

func (r *running) tokensOf(name, access, session string) (t tokensOf) {
	r.t.Helper()
	create := func(in api.NewToken, header string) string {
		r.t.Helper()
		var made api.CreatedToken
		r.browseInto(&made, "POST", "/tokens", in, header)
		return made.Secret
	}
	get[api.CreatedToken](r, "POST", "/tokens", api.NewToken{Name: name + "-rotated", Scope: "full"})
	t.made = create(api.NewToken{Name: name + "-made", Scope: "full"}, access)
	t.chained = create(api.NewToken{Name: name + "-chained", Scope: "full"}, "Bearer "+t.made)
	t.watch = create(api.NewToken{Name: name + "-watch", Scope: "session", Session: session}, access)
	// One that rotates itself, or its maker, stays the login's.
	var again api.CreatedToken
	r.browseInto(&again, "POST", "/tokens/"+name+"-chained/rotate", nil, "Bearer "+t.chained)
	t.chained = again.Secret
	r.browseInto(&again, "POST", "/tokens/"+name+"-made/rotate", nil, "Bearer "+t.chained)
	t.made = again.Secret
	r.browseInto(&again, "POST", "/tokens/"+name+"-rotated/rotate", nil, access)
	t.rotated = again.Secret
	return t
}

func (r *running) browseInto(out any, method, path string, in any, header string) {
	r.t.Helper()
	a := r.browse(method, "/api/v1"+path, in, "Authorization", header)
	if a.status >= 300 {
		r.t.Fatalf("%s %s: %d %s", method, path, a.status, a.body)
	}
	if err := json.Unmarshal(a.body, out); err != nil {
		r.t.Fatalf("%s %s: %v: %s", method, path, err, a.body)
	}
}

// all are the secrets, each with a route that it opens.
func (t tokensOf) all(session string) map[string]string {
	return map[string]string{t.made: "/workspaces", t.chained: "/workspaces", t.rotated: "/workspaces", t.watch: "/sessions/" + session}
}

// Who revokes a login does not trust it: the tokens that it made end too, and what
// these have open.
func TestRevokedLoginEndsItsTokens(t *testing.T) {
	for _, x := range []struct {
		name       string
		revoke     func(r *running, login, access string) answer
		ends, also bool // whether its tokens end, and those of another login
	}{
		{"revoke", func(r *running, login, _ string) answer { return r.call("DELETE", "/logins/"+login, nil) }, true, false},
		{"revoke all", func(r *running, _, _ string) answer { return r.call("DELETE", "/logins", nil) }, true, true},
		{"log out everywhere", func(r *running, _, access string) answer {
			return r.browse("DELETE", "/api/v1/logins", nil, "Authorization", access)
		}, true, true},
		{"revoke, and keep them", func(r *running, login, _ string) answer {
			return r.call("DELETE", "/logins/"+login+"?keep_tokens=true", nil)
		}, false, false},
		{"revoke all, and keep them", func(r *running, _, _ string) answer { return r.call("DELETE", "/logins?keep_tokens=true", nil) }, false, false},
		{"log out", func(r *running, _, access string) answer {
			return r.browse("POST", "/api/v1/logout", nil, "Authorization", access)
		}, false, false},
		{"log out, then revoke all", func(r *running, _, access string) answer {
			r.browse("POST", "/api/v1/logout", nil, "Authorization", access)
			return r.call("DELETE", "/logins", nil)
		}, true, true},
		{"log out, then revoke by its old id", func(r *running, login, access string) answer {
			r.browse("POST", "/api/v1/logout", nil, "Authorization", access)
			return r.call("DELETE", "/logins/"+login, nil)
		}, true, false},
	} {
		t.Run(x.name, func(t *testing.T) {
			r := newPlace(t).serve(t)
			session := r.workspace("open", &api.NewSession{Command: []string{"cat"}}).Sessions[0].ID
			b, other := r.browserLogin(), r.browserLogin()
			access := r.access(b)
			mine, others := r.tokensOf("mine", access, session), r.tokensOf("others", r.access(other), session)
			own := get[api.CreatedToken](r, "POST", "/tokens", api.NewToken{Name: "own", Scope: "full"}).Secret
			var open *opened
			if x.ends {
				open = r.open(session, "Authorization", "Bearer "+mine.chained)
			}
			if a := x.revoke(r, b.Login.ID, access); a.status != http.StatusNoContent {
				t.Fatalf("%d %s", a.status, a.body)
			}
			if open != nil {
				open.ended(t)
			}
			r.tokensAre(mine.all(session), !x.ends, "of the login")
			r.tokensAre(others.all(session), !x.also, "of another login")
			r.tokensAre(map[string]string{own: "/workspaces"}, true, "of this user")
		})
	}
}

func (r *running) tokensAre(secrets map[string]string, valid bool, whose string) {
	r.t.Helper()
	for secret, path := range secrets {
		if status := r.status("GET", path, "Bearer "+secret); (status == 200) != valid || !valid && status != 401 {
			r.t.Errorf("%s by a token %s: %d", path, whose, status)
		}
	}
}

// A token that is revoked takes along those that it made, and these what they made.
func TestRevokedTokenEndsThoseItMade(t *testing.T) {
	r := newPlace(t).serve(t)
	session := r.workspace("open", &api.NewSession{Command: []string{"cat"}}).Sessions[0].ID
	first := get[api.CreatedToken](r, "POST", "/tokens", api.NewToken{Name: "first", Scope: "full"}).Secret
	all := r.tokensOf("its", "Bearer "+first, session)
	own := get[api.CreatedToken](r, "POST", "/tokens", api.NewToken{Name: "own", Scope: "full"}).Secret
	open := r.open(session, "Authorization", "Bearer "+all.chained)
	if a := r.call("DELETE", "/tokens/first", nil); a.status != http.StatusNoContent {
		t.Fatalf("%d %s", a.status, a.body)
	}
	open.ended(t)
	r.tokensAre(all.all(session), false, "that it made")
	r.tokensAre(map[string]string{own: "/workspaces"}, true, "of this user")
}

// The list of tokens says whose they are; who rotates one over the socket takes it over.
func TestTokensSayWhoMadeThem(t *testing.T) {
	r := newPlace(t).serve(t)
	session := r.workspace("open", &api.NewSession{Command: []string{"cat"}}).Sessions[0].ID
	b := r.browserLogin()
	r.tokensOf("its", r.access(b), session)
	get[api.CreatedToken](r, "POST", "/tokens", api.NewToken{Name: "own", Scope: "full"})
	list := get[api.Tokens](r, "GET", "/tokens", nil).Tokens
	for _, token := range list {
		login, by := b.Login.ID, ""
		switch token.Name {
		case "own":
			login = ""
		case "its-chained":
			at := slices.IndexFunc(list, func(t api.Token) bool { return t.Name == "its-made" })
			by = list[at].ID
		}
		if token.Login != login || token.MadeBy != by {
			t.Errorf("%s: login %q, made by %q; want %q, %q", token.Name, token.Login, token.MadeBy, login, by)
		}
	}
	if made := get[api.CreatedToken](r, "POST", "/tokens/its-made/rotate", nil).Token; made.Login != "" || made.MadeBy != "" {
		t.Errorf("rotated by this user: %+v", made)
	}
}
