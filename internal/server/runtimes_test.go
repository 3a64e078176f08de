//go:build linux || darwin

package server_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"middleman/internal/api"
	"middleman/internal/store"
	"middleman/terminal"
)

// fake is a remote server that answers as the test says.
type fake struct {
	*httptest.Server
	mu     sync.Mutex // guards the fields below
	answer http.HandlerFunc
	got    []string // the requests: method, path and query as they came
	hello  string   // how it tells its version
}

// fakeHello is how a server of this build tells its version.
const fakeHello = `{"version":"1","api":1,"oldest_api":1,"features":["keep-ended"]}`

// addFake adds a runtime "box", whose server is a fake.
func (r *running) addFake() *fake {
	r.t.Helper()
	f := &fake{hello: fakeHello}
	f.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.URL.Path == "/api/v1/version" && req.Header.Get("Authorization") == "Bearer hunter2" {
			f.mu.Lock()
			defer f.mu.Unlock()
			fmt.Fprint(w, f.hello)
			return
		}
		f.mu.Lock()
		f.got = append(f.got, req.Method+" "+req.RequestURI)
		answer := f.answer
		f.mu.Unlock()
		answer(w, req)
	}))
	r.t.Cleanup(f.Close)
	token := filepath.Join(r.place.dirs.Data, "token")
	write(r.t, token, "hunter2")
	sum := sha256.Sum256(f.Certificate().Raw)
	added := get[api.Runtime](r, "POST", "/runtimes", api.NewRuntime{Name: "box", Address: f.URL, TokenFile: token, Pin: hex.EncodeToString(sum[:])})
	if added.State != "reachable" || added.Address != f.URL {
		r.t.Fatalf("added: %+v", added)
	}
	return f
}

func (f *fake) says(answer http.HandlerFunc) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answer, f.got = answer, nil
}

const plantedPath, plantedToken = "/home/victim/.ssh/id_rsa", "tok-0123456789"

// Whatever a runtime says in an error, whatever it answers where something else was
// asked: nothing of its words, its endpoint or its token is in what the hub gives
// out.
func TestNothingOfARuntimesErrorsGetsOut(t *testing.T) {
	r := newPlace(t).serve(t)
	f := r.addFake()
	token := "Bearer " + r.token(store.ScopeFull, "", time.Hour)
	problem := fmt.Sprintf(`"title":"%[1]s","detail":"open %[1]s: %[2]s at %[3]s","type":"%[3]s","instance":"%[2]s"`, plantedPath, plantedToken, f.URL)
	header := func(w http.ResponseWriter) {
		for _, name := range []string{"Middleman-Note", "Middleman-Hash", "Middleman-Steady", "Middleman-Offset", "Location", "WWW-Authenticate", "Set-Cookie", "X-Endpoint", "Server"} {
			w.Header().Set(name, plantedPath+plantedToken)
		}
	}
	kinds := map[string]http.HandlerFunc{
		"a page": func(w http.ResponseWriter, _ *http.Request) {
			header(w)
			http.Error(w, plantedPath+plantedToken+f.URL, http.StatusBadGateway)
		},
		"a redirect": func(w http.ResponseWriter, r *http.Request) {
			header(w)
			http.Redirect(w, r, f.URL+plantedPath, http.StatusTemporaryRedirect)
		},
		"no JSON": func(w http.ResponseWriter, _ *http.Request) { header(w); fmt.Fprint(w, `{"`+plantedPath) },
		"an id":   func(w http.ResponseWriter, _ *http.Request) { header(w); fmt.Fprint(w, `{"id":"../`+plantedToken+`"}`) },
	}
	for _, code := range []string{"internal", "unauthorized", "forbidden", "not-found", "start-failed", plantedToken, "trimmed"} {
		for _, status := range []int{400, 401, 403, 404, 409, 410, 500, 503} {
			kinds[fmt.Sprint(code, " ", status)] = func(w http.ResponseWriter, _ *http.Request) {
				header(w)
				w.WriteHeader(status)
				fmt.Fprintf(w, `{"code":"%s","status":200,%s}`, code, problem)
			}
		}
	}
	never := []string{plantedPath, plantedToken, "hunter2", strings.TrimPrefix(f.URL, "https://"), `"token":`}
	for kind, answer := range kinds {
		f.says(answer)
		for _, op := range r.operations() {
			if !strings.HasPrefix(op.id, "runtime-") || op.id == "runtime-version" || op.id == "runtime-terminal" || op.id == "runtime-create-ticket" {
				continue
			}
			path := strings.NewReplacer("{session}", "s0123456789abcdef", "{workspace}", "w", "{approval}", "a0", "{runtime}", "box").Replace(op.path)
			r.call("POST", "/runtimes/box/check", nil) // else a call right after a failure fails at once
			a := r.browse(op.method, "/api/v1"+path, nil, "Authorization", token)
			text := fmt.Sprint(a.header, string(a.body))
			for _, part := range never {
				// The bytes of a session and of a diff are content, whatever they are.
				content := a.status == 200 && (op.id == "runtime-output" || op.id == "runtime-recording" || op.id == "runtime-capture")
				if strings.Contains(text, part) && (!content || strings.Contains(fmt.Sprint(a.header), part)) {
					t.Errorf("%s, %s: %q is in %d %s", kind, op.id, part, a.status, text)
				}
			}
			if a.status == http.StatusUnauthorized {
				t.Errorf("%s, %s: 401 looks as if the caller's own login had ended", kind, op.id)
			}
		}
	}
	list := r.browse("GET", "/api/v1/runtimes", nil, "Authorization", token)
	for _, part := range never {
		if strings.Contains(string(list.body), part) {
			t.Errorf("%q is in the list of runtimes: %s", part, list.body)
		}
	}
}

// A remote whose version has no API in common is asked for nothing but its version, by
// whatever operation; the one sentence says where to upgrade. Once it is upgraded it is
// used again. A newer one that still speaks ours is used.
func TestVersionSkew(t *testing.T) {
	r := newPlace(t).serve(t)
	f := r.addFake()
	token := "Bearer " + r.token(store.ScopeFull, "", time.Hour)
	says := func(hello string) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.hello, f.got = hello, nil
	}
	for hello, want := range map[string]string{
		`{"version":"9.0","api":9,"oldest_api":2,"features":["later"]}`: "runtime box: its middleman is too new for this one: upgrade this machine's",
		`{"version":"0.1","go":"1.20"}`:                                 "runtime box: its middleman is too old for this one: upgrade it there; its sessions go on",
	} {
		says(hello)
		r.call("POST", "/runtimes/box/check", nil)
		for _, op := range r.operations() {
			if !strings.HasPrefix(op.id, "runtime-") || op.id == "runtime-terminal" || op.id == "runtime-create-ticket" {
				continue
			}
			path := strings.NewReplacer("{session}", "s0123456789abcdef", "{workspace}", "w", "{approval}", "a0", "{bundle}", "b", "{runtime}", "box").Replace(op.path)
			a := r.browse(op.method, "/api/v1"+path, nil, "Authorization", token)
			if p := a.problem(t); a.status != 502 || p.Code != api.CodeRuntimeRefused || p.Detail != want {
				t.Errorf("%s: %d %s %q, want %q", op.id, a.status, p.Code, p.Detail, want)
			}
		}
		if f.mu.Lock(); len(f.got) > 0 {
			t.Errorf("the remote got %q", f.got)
		}
		f.mu.Unlock()
	}
	for _, hello := range []string{fakeHello, `{"version":"9.0","api":9,"oldest_api":1,"features":["later"],"more":{"x":[1]}}`} {
		says(hello)
		f.says(func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, `{"sessions":[{"id":"s0123456789abcdef","state":"pondering","later":{"x":1}}],"later":[]}`)
		})
		r.call("POST", "/runtimes/box/check", nil)
		if list := get[api.Sessions](r, "GET", "/runtimes/box/sessions", nil).Sessions; len(list) != 1 || list[0].State != "pondering" {
			t.Errorf("%s: %+v", hello, list)
		}
		if a := r.call("DELETE", "/runtimes/box/sessions/s0123456789abcdef?keep=1", nil); hello != fakeHello && (a.status != 422 || a.problem(t).Code != api.CodeUnsupported) {
			t.Errorf("what it has not told that it can: %d %s", a.status, a.body)
		}
	}
}

// Wherever the line is cut, the error says whether what was asked may have been done, and
// the next request, which is not sent, says that.
func TestLineIsCutAtEachStep(t *testing.T) {
	r := newPlace(t).serve(t)
	f := r.addFake()
	cut := func(sent string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			conn, out, err := http.NewResponseController(w).Hijack()
			if err != nil {
				panic(err)
			}
			_, _ = out.WriteString(sent)
			_ = out.Flush()
			conn.Close()
		}
	}
	token := "Bearer " + r.token(store.ScopeFull, "", time.Hour)
	steps := []struct{ at, sent string }{
		{"before the answer", ""}, {"in its header", "HTTP/1.1 200 OK\r\nContent-Le"},
		{"before its body", "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n"}, {"in its body", "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"sess"},
	}
	for i, op := range r.operations() {
		switch op.id {
		case "runtime-version", "runtime-terminal", "runtime-create-ticket", "runtime-output", "runtime-recording", "runtime-send-input":
			continue // these have no JSON to wait for
		}
		if !strings.HasPrefix(op.id, "runtime-") {
			continue
		}
		step := steps[i%len(steps)]
		path := "/api/v1" + strings.NewReplacer("{session}", "s0123456789abcdef", "{workspace}", "w", "{approval}", "a0", "{bundle}", "b", "{runtime}", "box").Replace(op.path)
		f.says(cut(step.sent))
		r.call("POST", "/runtimes/box/check", nil)
		first := r.browse(op.method, path, nil, "Authorization", token).problem(t)
		if known := !strings.Contains(first.Detail, "it is not known whether it did"); first.Code != api.CodeRuntimeLost || known != (op.method == "GET") {
			t.Errorf("%s, %s: %s %q", step.at, op.id, first.Code, first.Detail)
		}
		f.mu.Lock()
		f.hello = "" // so that a request that comes too late for the pause is not sent either
		f.mu.Unlock()
		next := r.browse(op.method, path, nil, "Authorization", token).problem(t)
		if strings.Contains(next.Detail, "not known") || op.method != "GET" && !strings.Contains(next.Detail, "was not sent") {
			t.Errorf("%s, %s, the next one: %q", step.at, op.id, next.Detail)
		}
		f.mu.Lock()
		if f.hello = fakeHello; len(f.got) > 2 || len(f.got) > 1 && op.method != "GET" {
			t.Errorf("%s, %s: the runtime got %q", step.at, op.id, f.got)
		}
		f.mu.Unlock()
	}
}

// A ticket for a session of a runtime opens that one thing there once: no other session,
// nothing of this server, and no more than its caller may do.
func TestRuntimeTickets(t *testing.T) {
	r := newPlace(t).serve(t)
	f := r.addFake()
	f.says(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "bytes") })
	own := r.workspace("own", &api.NewSession{Command: []string{"cat"}}).Sessions[0].ID
	full, read := "Bearer "+r.token(store.ScopeFull, "", time.Hour), "Bearer "+r.token(store.ScopeRead, "", time.Hour)
	const id, other = "s0123456789abcdef", "s0123456789abcdee"
	ask := func(runtime, session, what, by string) answer {
		return r.browse("POST", "/api/v1/runtimes/"+runtime+"/sessions/"+session+"/tickets", api.NewTicket{For: what}, "Authorization", by)
	}
	ticket := func(what, by string) string { return decode[api.Ticket](t, ask("box", id, what, by)).Ticket }
	for what, a := range map[string]answer{
		"to attach, for a reader": ask("box", id, "attach", read), "without a login": r.browse("POST", "/api/v1/runtimes/box/sessions/"+id+"/tickets", api.NewTicket{For: "watch"}),
		"of no runtime": ask("none", id, "watch", full), "of no id": ask("box", "x%2Fy", "watch", full),
	} {
		if a.status < 400 || strings.Contains(string(a.body), `"ticket":`) {
			t.Errorf("a ticket %s: %d %s", what, a.status, a.body)
		}
	}
	terminal := func(path, mode, ticket string) int {
		return r.browse("GET", "/api/v1"+path+"/terminal?mode="+mode, nil, "Sec-WebSocket-Protocol", "middleman.v1, ticket."+ticket).status
	}
	there := "/runtimes/box/sessions/"
	const letIn = 426 // the request of this test is no WebSocket
	for _, x := range []struct{ what, path, mode, with, by string }{
		{"attach", there + id, "attach", "attach", full}, {"watch", there + id, "watch", "watch", read},
	} {
		secret := ticket(x.with, x.by)
		if got := terminal(x.path, x.mode, secret); got != letIn {
			t.Errorf("%s: %d", x.what, got)
		}
		if got := terminal(x.path, x.mode, secret); got != 401 {
			t.Errorf("%s, a second time: %d", x.what, got)
		}
	}
	if got := terminal(there+id, "attach", ticket("watch", full)); got != 403 {
		t.Errorf("to type with a ticket to watch: %d", got)
	}
	for _, path := range []string{there + other, "/sessions/" + id, "/sessions/" + own} {
		if got := terminal(path, "watch", ticket("watch", full)); got != 401 {
			t.Errorf("%s: %d", path, got)
		}
	}
	if got := terminal(there+own, "watch", r.ticket(own, "watch", full)); got != 401 {
		t.Errorf("a ticket for a session here, there: %d", got)
	}
	f.says(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "bytes") })
	a := r.browse("GET", "/api/v1"+there+id+"/recording?ticket="+ticket("recording", read), nil)
	f.mu.Lock()
	defer f.mu.Unlock()
	if a.status != 200 || string(a.body) != "bytes" || strings.Join(f.got, " ") != "GET /api/v1/sessions/"+id+"/recording" {
		t.Errorf("a download: %d %s, the remote got %q", a.status, a.body, f.got)
	}
}

// Ids and parameters arrive as they were sent.
func TestRuntimeIDsAreEscaped(t *testing.T) {
	r := newPlace(t).serve(t)
	f := r.addFake()
	f.says(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{}`) })
	for id, want := range map[string]string{
		"a%3Fb": "a%3Fb", "a%26b": "a&b", "a%23b": "a%23b", "a%3Db": "a=b", "a%25b": "a%25b", "a%2Fb": "a%2Fb", "a%252Fb": "a%252Fb", "a@b%2Fc": "a@b%2Fc",
		"%2e%2e%2fsessions": "..%2Fsessions", "a%00b": "a%00b", "a%0d%0aX:b": "a%0D%0AX:b",
	} {
		f.says(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{}`) })
		a := r.call("GET", "/runtimes/box/workspaces/"+id+"?wait=1s", nil)
		f.mu.Lock()
		got := strings.Join(f.got, " ")
		f.mu.Unlock()
		if want = "GET /api/v1/workspaces/" + want + "?wait=1s"; got != want {
			t.Errorf("%s: %d, the runtime got %q, want %q", id, a.status, got, want)
		}
	}
	for _, path := range []string{
		"/runtimes/box/workspaces/..", "/runtimes/box/workspaces/%2e%2e", "/runtimes/box/tokens", "/runtimes/box/login-links", "/runtimes/box/runtimes",
		"/runtimes/box/workspaces?later=1", "/runtimes/b%2Fx/workspaces", "/runtimes/none/workspaces",
	} {
		f.says(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{}`) })
		a := r.call("GET", path, nil)
		f.mu.Lock()
		got := f.got
		f.mu.Unlock()
		if a.status < 300 || len(got) > 0 {
			t.Errorf("%s: %d, the runtime got %q", path, a.status, got)
		}
	}
}

// Only a process of this user says whom the hub connects to, and the environment of
// a caller stays here.
func TestRuntimesAreAddedOverTheSocketAlone(t *testing.T) {
	r := newPlace(t).serve(t)
	f := r.addFake()
	f.says(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{}`) })
	token := "Bearer " + r.token(store.ScopeFull, "", time.Hour)
	for _, tt := range []struct {
		method, path string
		in           any
	}{
		{"POST", "/runtimes", api.NewRuntime{Name: "evil", Address: "ssh://evil.example"}},
		{"DELETE", "/runtimes/box", nil},
	} {
		if a := r.browse(tt.method, "/api/v1"+tt.path, tt.in, "Authorization", token); a.status != 403 {
			t.Errorf("%s %s over TCP: %d %s", tt.method, tt.path, a.status, a.body)
		}
	}
	if a := r.call("POST", "/runtimes/box/workspaces/w/sessions", api.NewSession{CallerEnv: [][]byte{[]byte("SECRET=1")}}); a.status != 403 {
		t.Errorf("the environment of a caller: %d %s", a.status, a.body)
	}
	if len(f.got) > 0 {
		t.Errorf("the runtime got %q", f.got)
	}
	if a := r.call("POST", "/runtimes", api.NewRuntime{Name: "box", Address: "ssh://elsewhere"}); a.status != 409 {
		t.Errorf("a name that is taken: %d %s", a.status, a.body)
	}
	if a := r.call("DELETE", "/runtimes/box", nil); a.status != 204 {
		t.Errorf("removed: %d %s", a.status, a.body)
	}
}

// The list of all machines says what the runtime says, under its name. Where the
// runtime does not answer it says how old that is, and that nothing is known of its
// sessions now.
func TestOverview(t *testing.T) {
	r := newPlace(t).serve(t)
	f := r.addFake()
	f.says(func(w http.ResponseWriter, req *http.Request) {
		if strings.HasSuffix(req.URL.Path, "/workspaces") {
			fmt.Fprint(w, `{"workspaces":[{"id":"w0123456789abcdef","name":"fix","label":"fix","runtime":"other"}]}`)
			return
		}
		fmt.Fprint(w, `{"sessions":[{"id":"s0123456789abcdef","name":"sh","workspace_id":"w0123456789abcdef","state":"running"}]}`)
	})
	all := get[api.Overview](r, "GET", "/overview", nil)
	if len(all.Runtimes) != 1 || !all.Runtimes[0].Current || all.Runtimes[0].Runtime.Address == "" {
		t.Fatalf("%+v", all)
	}
	box := all.Runtimes[0]
	if len(box.Workspaces) != 1 || box.Workspaces[0].Runtime != "box" || len(box.Sessions) != 1 || box.Sessions[0].State != terminal.StateRunning {
		t.Errorf("%+v", box)
	}
	token := "Bearer " + r.token(store.ScopeRead, "", time.Hour)
	if a := r.browse("GET", "/api/v1/overview", nil, "Authorization", token); a.status != 200 || strings.Contains(string(a.body), f.URL) {
		t.Errorf("over TCP: %d %s", a.status, a.body)
	}
	f.says(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	away := get[api.Overview](r, "GET", "/overview?wait=20s", nil).Runtimes[0]
	if away.Current || away.AsOf == nil || away.AsOf.Before(*box.AsOf) || away.Runtime.State != "unreachable" {
		t.Errorf("while it does not answer: %+v", away)
	}
	if len(away.Workspaces) != 1 || len(away.Sessions) != 1 || away.Sessions[0].State != terminal.StateUnreachable {
		t.Errorf("while it does not answer: %+v", away)
	}
	if a := r.call("GET", "/overview?wait=-1s", nil); a.status != 422 {
		t.Errorf("a wait of less than nothing: %d", a.status)
	}
}
