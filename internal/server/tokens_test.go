//go:build linux || darwin

package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"middleman/internal/api"
	"middleman/internal/pinned"
	"middleman/internal/store"
)

// needs says of each operation what a caller must be: "nobody" in particular,
// a watcher of the one "session", a reader, "full", or a browser's "login".
var needs = map[string]string{
	"health": "nobody", "login": "nobody", "login-challenge": "nobody", "login-access": "nobody",

	"get-session": "session", "capture": "session", "wait": "session", "terminal": "session", "output": "session", "recording": "session",
	"create-ticket": "session",

	"version": "read", "events": "read", "list-backends": "read", "list-workspaces": "read", "get-workspace": "read",
	"workspace-events": "read", "list-workspace-sessions": "read", "list-sessions": "read", "diff-workspace": "read", "list-commits": "read",
	"forecast-conflicts": "read", "list-workers": "read", "list-session-workers": "read", "list-transcripts": "read",

	"get-push-subscription": "login", "set-push-subscription": "login", "delete-push-subscription": "login",

	"create-login-link": "full", "logout": "full", "list-logins": "full", "delete-login": "full", "delete-logins": "full",
	"create-token": "full", "list-tokens": "full", "revoke-token": "full", "rotate-token": "full",
	"create-workspace": "full", "delete-workspace": "full", "retry-workspace": "full", "restore-workspace": "full",
	"start-session": "full", "end-session": "full", "send-input": "full", "send-prompt": "full", "spawn-worker": "worker", "report-status": "own",
	"prune": "full", "forget-transcripts": "full", "import": "full", "repair": "full", "rename-workspace": "full", "get-server": "full", "stop-server": "full", "restart-server": "full", "merge-workspace": "full", "push-workspace": "full", "import-sandbox": "full", "rename-session": "full", "resume-session": "full", "agent-status": "session",
	"get-config": "full", "get-workspace-config": "full", "trust-config": "full", "trust-workspace-config": "full",
	"request-approval": "own", "answer-approval": "full", "list-approvals": "read", "list-session-approvals": "read", "get-approval": "read",
	"list-profiles": "full", "list-workspace-profiles": "full", "runtime-list-profiles": "full", "runtime-list-workspace-profiles": "full",
	"push-bundle": "full", "remove-bundle": "full", "list-bundles": "read", "get-bundle": "read", "check-bundle": "read",
	"list-trust": "full", "revoke-trust": "full", "get-setup-log": "full",

	"list-runtimes": "read", "add-runtime": "full", "remove-runtime": "full", "check-runtime": "full",
	"runtime-version": "read", "runtime-list-workspaces": "read", "runtime-get-workspace": "read", "runtime-diff-workspace": "read",
	"runtime-list-commits": "read", "runtime-forecast-conflicts": "read", "runtime-list-workers": "read", "runtime-list-transcripts": "read", "runtime-search": "read",
	"runtime-list-sessions": "read", "runtime-list-workspace-sessions": "read", "runtime-get-session": "read", "runtime-agent-status": "read",
	"runtime-capture": "read", "runtime-output": "read", "runtime-recording": "read", "runtime-wait": "read", "runtime-terminal": "read",
	"runtime-list-approvals": "read", "runtime-list-session-approvals": "read", "runtime-get-approval": "read",
	"runtime-create-workspace": "full", "runtime-retry-workspace": "full", "runtime-delete-workspace": "full", "runtime-restore-workspace": "full",
	"runtime-start-session": "full", "runtime-end-session": "full", "runtime-resume-session": "full", "runtime-send-input": "full",
	"runtime-send-prompt": "full", "runtime-answer-approval": "full", "runtime-rename-workspace": "full", "runtime-rename-session": "full",
	"runtime-merge-workspace": "full", "runtime-push-workspace": "full", "runtime-import-sandbox": "full", "runtime-list-session-workers": "read",
	"runtime-push-bundle": "full", "runtime-remove-bundle": "full", "runtime-list-bundles": "read", "runtime-get-bundle": "read", "runtime-check-bundle": "read",
	"runtime-create-ticket": "read", "runtime-spawn-worker": "full", "runtime-prune": "full", "runtime-forget-transcripts": "full", "runtime-import": "full", "runtime-repair": "full",
	"runtime-get-config": "full", "runtime-get-workspace-config": "full", "runtime-trust-config": "full", "runtime-trust-workspace-config": "full",
	"runtime-list-trust": "full", "runtime-revoke-trust": "full", "runtime-get-setup-log": "full",
	"overview": "read", "search": "read",
}

// Each operation lets those through that it needs, and nobody else: one that
// is new must say here who that is.
func TestScopeOfEveryOperation(t *testing.T) {
	r := newPlace(t).serve(t)
	id := r.workspace("scoped", &api.NewSession{Command: []string{"cat"}}).Sessions[0].ID
	callers := map[string]string{
		"":        "",
		"read":    "Bearer " + r.token(store.ScopeRead, "", time.Hour),
		"session": "Bearer " + r.token(store.ScopeSession, id, time.Hour),
		"other":   "Bearer " + r.token(store.ScopeSession, "s0000000000000000", time.Hour),
		"full":    "Bearer " + r.token(store.ScopeFull, "", time.Hour),
	}
	may := map[string]string{"nobody": " read session other full", "session": "read session full", "read": "read full", "full": "full", "own": "nobody else", "login": "nobody else", "worker": "full"}
	for _, op := range r.operations() {
		need, known := needs[op.id]
		if !known {
			t.Errorf("operation %s (%s %s): who may use it is not said in needs", op.id, op.method, op.path)
			continue
		}
		for who, header := range callers {
			path := strings.NewReplacer("{session}", id, "{workspace}", "w0", "{token}", "t0", "{login}", "l0", "{approval}", "a0", "{bundle}", "b0", "{runtime}", "none").Replace(op.path)
			path += map[string]string{"terminal": "?mode=watch", "wait": "?for=exit&timeout=1ms"}[op.id]
			if who == "full" && op.id == "end-session" {
				path = strings.Replace(path, id, "s0", 1) // it is needed by the next
			}
			status := r.status(op.method, path, header)
			allowed := strings.Contains(" "+may[need]+" ", " "+who+" ") || need == "nobody"
			switch {
			case need == "login" && who == "full": // what it lacks may be seen before that it is no login
				if status < 400 {
					t.Errorf("%s by %q: %d", op.id, who, status)
				}
			case allowed && (status == 401 && op.id != "login" && op.id != "login-access" || status == 403):
				t.Errorf("%s by %q: %d", op.id, who, status)
			case !allowed && who == "" && status != 401, !allowed && who != "" && status != 403:
				t.Errorf("%s by %q: %d", op.id, who, status)
			}
		}
	}
}

// Over the socket of sandboxed sessions, and what stands in for it, a session's token opens the routes of that
// session alone, and nothing else opens anything: neither the peer's user nor a
// token that is good for more elsewhere.
func TestScopeOfEveryOperationOnTheOwnSocket(t *testing.T) {
	r := newPlace(t).serve(t)
	mine := r.workspace("confined", &api.NewSession{Command: []string{"cat"}}).Sessions[0].ID
	other := r.workspace("another", &api.NewSession{Command: []string{"cat"}}).Sessions[0].ID
	through := func(dial func(ctx context.Context) (net.Conn, error)) *http.Client {
		return &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return dial(ctx)
		}}}
	}
	ways := map[string]*http.Client{
		"own socket": through(func(ctx context.Context) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", r.place.dirs.OwnSocket())
		}),
		"loopback": through(func(ctx context.Context) (net.Conn, error) { return pinned.Dial(ctx, r.place.dirs.OwnFile()) }),
	}
	secret := store.NewSecret()
	if err := r.store.SetSessionSecret(t.Context(), mine, secret); err != nil {
		t.Fatal(err)
	}
	callers := map[string]string{
		"nobody": "", "the session": secret, "a full token": strings.TrimPrefix(r.token(store.ScopeFull, "", time.Hour), "Bearer "), "a guess": store.NewSecret(),
	}
	ask := func(own *http.Client, method, path, secret string) int {
		req := r.request(method, "http://localhost"+path, nil)
		if secret != "" {
			req.Header.Set("Authorization", "Bearer "+secret)
		}
		return r.do(own, req).status
	}
	for way, own := range ways {
		t.Run(way, func(t *testing.T) {
			for _, op := range r.operations() {
				for who, secret := range callers {
					for _, id := range []string{mine, other} {
						path := strings.NewReplacer("{session}", id, "{workspace}", "w0", "{token}", "t0", "{login}", "l0", "{approval}", "a0", "{bundle}", "b0", "{runtime}", "none").Replace(op.path)
						status := ask(own, op.method, "/api/v1"+path, secret)
						want := 403
						switch {
						case op.id == "health" && who == "nobody":
							want = 200
						case who != "the session":
							want = 401
						case (needs[op.id] == "own" || needs[op.id] == "worker") && id == mine:
							want = 422 // it is let in, and has no body
						}
						if status != want && (want != 422 || status == 401 || status == 403) {
							t.Errorf("%s of %s by %s: %d, want %d", op.id, id, who, status, want)
						}
					}
				}
			}
			for _, path := range []string{"/", "/index.html", "/api/v1/openapi.json", "/api/v2"} {
				if status := ask(own, "GET", path, secret); status != 403 && status != 404 {
					t.Errorf("%s: %d", path, status)
				}
			}
		})
	}
	r.call("DELETE", "/sessions/"+mine+"?grace=0s", nil)
	for way, own := range ways {
		if status := ask(own, "POST", "/api/v1/sessions/"+mine+"/report", secret); status != 401 {
			t.Errorf("%s, after the session's end: %d", way, status)
		}
	}
}

type operation struct{ id, method, path string }

func (r *running) operations() (list []operation) {
	var doc struct {
		Paths map[string]map[string]struct{ OperationID string }
	}
	if err := json.Unmarshal(r.call("GET", "/openapi.json", nil).body, &doc); err != nil {
		r.t.Fatal(err)
	}
	for path, methods := range doc.Paths {
		for method, op := range methods {
			list = append(list, operation{op.OperationID, strings.ToUpper(method), path})
		}
	}
	return list
}

// status is what a request over TCP is answered with, whose body may not end.
func (r *running) status(method, path, authorization string) int {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), patience)
	defer cancel()
	req := r.request(method, "http://"+r.tcp+"/api/v1"+path, nil).WithContext(ctx)
	if authorization != "" {
		req.Header.Set("Authorization", authorization)
	}
	resp, err := browser.Do(req)
	if err != nil {
		r.t.Fatalf("%s %s: %v", method, path, err)
	}
	resp.Body.Close()
	return resp.StatusCode
}

func TestTokens(t *testing.T) {
	r := newPlace(t).serve(t)
	id := r.workspace("w", &api.NewSession{Command: []string{"cat"}}).Sessions[0].ID
	create := func(in api.NewToken) api.CreatedToken { return get[api.CreatedToken](r, "POST", "/tokens", in) }
	list := func(secret string) int {
		return r.browse("GET", "/api/v1/workspaces", nil, "Authorization", "Bearer "+secret).status
	}
	read := create(api.NewToken{Name: "reader", Scope: "read"})
	if list(read.Secret) != 200 {
		t.Fatal("the new token is not valid")
	}
	for _, x := range []struct {
		name   string
		in     api.NewToken
		status int
	}{
		{"a name twice", api.NewToken{Name: "reader", Scope: "full"}, 409},
		{"no name", api.NewToken{Scope: "full"}, 422},
		{"a name that a terminal acts on", api.NewToken{Name: "x\x1b[2J", Scope: "full"}, 422},
		{"an unknown scope", api.NewToken{Name: "x", Scope: "root"}, 422},
		{"a session for another scope", api.NewToken{Name: "x", Scope: "read", Session: id}, 422},
		{"no session", api.NewToken{Name: "x", Scope: "session"}, 422},
		{"an unknown session", api.NewToken{Name: "x", Scope: "session", Session: "s0"}, 404},
		{"no life", api.NewToken{Name: "x", Scope: "read", Life: "0s"}, 422},
		{"a negative life", api.NewToken{Name: "x", Scope: "read", Life: "-1h"}, 422},
	} {
		if a := r.call("POST", "/tokens", x.in); a.status != x.status {
			t.Errorf("%s: %d %s", x.name, a.status, a.body)
		}
	}
	watch := create(api.NewToken{Name: "watcher", Scope: "session", Session: id, Life: "1h"})
	if watch.Token.ExpiresAt == nil || time.Until(*watch.Token.ExpiresAt) > time.Hour {
		t.Errorf("%+v", watch.Token)
	}
	a := r.call("GET", "/tokens", nil)
	var all api.Tokens
	if err := json.Unmarshal(a.body, &all); err != nil || len(all.Tokens) != 2 || all.Tokens[0].LastUsedAt == nil || all.Tokens[1].LastUsedAt != nil {
		t.Errorf("%s", a.body)
	}
	if strings.Contains(string(a.body), read.Secret) {
		t.Error("the list has a secret")
	}
	rotated := get[api.CreatedToken](r, "POST", "/tokens/reader/rotate", nil, "Idempotency-Key", "k")
	again := get[api.CreatedToken](r, "POST", "/tokens/reader/rotate", nil, "Idempotency-Key", "k")
	if list(read.Secret) != 401 || list(rotated.Secret) != 401 || list(again.Secret) != 200 {
		t.Error("a secret that was rotated away is valid, or the new one is not")
	}
	if a := r.call("DELETE", "/tokens/"+read.Token.ID, nil); a.status != 204 || list(again.Secret) != 401 {
		t.Errorf("revoke: %d %s", a.status, a.body)
	}
	if a := r.call("DELETE", "/tokens/reader", nil); a.status != 404 {
		t.Errorf("revoke again: %d %s", a.status, a.body)
	}
}

// A token makes none that is valid for longer than itself.
func TestTokenMakesNoLongerOne(t *testing.T) {
	r := newPlace(t).serve(t)
	for _, x := range []struct {
		name, life string
		own        time.Duration // 0 for a token that does not expire
		status     int
	}{
		{"shorter", "1m", time.Hour, 201}, {"longer", "2h", time.Hour, 403}, {"for-ever", "", time.Hour, 403}, {"by-one-without-end", "", 0, 201},
	} {
		maker := api.NewToken{Name: "maker-of-" + x.name, Scope: "full"}
		if x.own != 0 {
			maker.Life = x.own.String()
		}
		secret := get[api.CreatedToken](r, "POST", "/tokens", maker).Secret
		a := r.browse("POST", "/api/v1/tokens", api.NewToken{Name: x.name, Scope: "full", Life: x.life}, "Authorization", "Bearer "+secret)
		if a.status != x.status {
			t.Errorf("%s: %d %s", x.name, a.status, a.body)
		}
	}
	short := get[api.CreatedToken](r, "POST", "/tokens", api.NewToken{Name: "short", Scope: "full", Life: "1h"}).Secret
	everlasting := get[api.CreatedToken](r, "POST", "/tokens", api.NewToken{Name: "everlasting", Scope: "full"}).Secret
	for _, x := range []struct {
		name string
		want int
	}{{"everlasting", 403}, {"maker-of-for-ever", 200}, {"short", 200}} {
		if a := r.browse("POST", "/api/v1/tokens/"+x.name+"/rotate", nil, "Authorization", "Bearer "+short); a.status != x.want {
			t.Errorf("rotate %s: %d %s", x.name, a.status, a.body)
		}
	}
	if status := r.status("GET", "/workspaces", "Bearer "+everlasting); status != 200 {
		t.Errorf("a refused rotation ended the secret: %d", status)
	}
}

// What is used of a body is what was checked: neither a name in another case nor one
// that is there twice gets past the schema.
func TestBodyIsUsedAsChecked(t *testing.T) {
	r := newPlace(t).serve(t)
	for name, body := range map[string]string{
		"another case beside it": `{"name":"n","scope":"read","Scope":"full"}`,
		"another case alone":     `{"name":"n","Scope":"full"}`,
		"a value without limits": `{"name":"n","scope":"read","NAME":"\u001b]0;x\u0007"}`,
		"twice":                  `{"name":"n","scope":"read","scope":"full"}`,
		"twice, escaped":         `{"name":"n","scope":"read","sc\u006fpe":"full"}`,
	} {
		if a := r.call("POST", "/tokens", json.RawMessage(body)); a.status != 400 && a.status != 422 {
			t.Errorf("%s: %d %s", name, a.status, a.body)
		}
	}
	workspace := `{"mode":"directory","name":"w","session":{"command":["cat"],"name":"a\u0007b"},"session":{"command":["cat"]}}`
	if a := r.call("POST", "/workspaces", json.RawMessage(workspace)); a.status != 400 && a.status != 422 {
		t.Errorf("an object that is merged: %d %s", a.status, a.body)
	}
	for path, body := range map[string]string{
		"/workspaces": "{\"mode\":\"directory\",\"name\":\"w\",\"session\":{\"command\":[\"cat\",\"caf\xe9\"]}}",
		"/tokens":     "{\"name\":\"\xff\",\"scope\":\"read\"}",
	} {
		if a := r.call("POST", path, json.RawMessage(body)); a.status != 400 || !bytes.Contains(a.body, []byte("not valid UTF-8")) {
			t.Errorf("a text that JSON would change: %d %s", a.status, a.body)
		}
	}
	if a := r.call("POST", "/workspaces", json.RawMessage(`{"mode":"directory","name":"w","session":{"command":["echo","\ufffd","� é"]}}`)); a.status >= 300 {
		t.Errorf("a body with a real U+FFFD: %d %s", a.status, a.body)
	}
	if a := r.call("POST", "/tokens", json.RawMessage(`{"name":"n","scope":"read"}`)); a.status != 201 {
		t.Errorf("a body in order: %d %s", a.status, a.body)
	}
}
