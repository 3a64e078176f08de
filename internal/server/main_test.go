//go:build linux || darwin

package server_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"middleman/internal/api"
	"middleman/internal/app"
	"middleman/internal/client"
	"middleman/internal/config"
	"middleman/internal/egress"
	"middleman/internal/heldport"
	"middleman/internal/listen"
	"middleman/internal/sandbox"
	"middleman/internal/server"
	"middleman/internal/store"
	"middleman/internal/testenv"
	"middleman/internal/watch"
	"middleman/ptyowner"
	"middleman/ptyowner/owner"
	"middleman/terminal"
	"middleman/tmux"
	"middleman/workspace"
)

// The test binary is its own owner and helper, as middleman is.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "pty-owner" {
		os.Exit(owner.Main(os.Args[2:], "test", tmux.Host{}))
	}
	if sandbox.IsHelper(os.Args[1:]) {
		exit, _ := sandbox.Main(os.Args[1:], egress.Proxy{})
		os.Exit(exit)
	}
	if egress.IsHelper(os.Args[1:]) {
		os.Exit(egress.Main(os.Args[2:]))
	}
	if len(os.Args) > 1 && os.Args[1] == askOwn {
		askAsOwn()
	}
	if tmux.IsHelper(os.Args[1:]) {
		os.Exit(tmux.Main(os.Args[1:]))
	}
	if len(os.Args) > 1 && os.Args[1] == heldport.Command {
		os.Exit(heldport.Main(os.Args[2:]))
	}
	goleak.VerifyTestMain(m)
}

// askOwn is the argument with which the test binary is a program in a sandbox that asks
// the server with its session's token.
const askOwn = "ask-own"

// askAsOwn asks as the clients of middleman do, and by a socket of its own for more than
// a session may have. Then it waits.
func askAsOwn() {
	c := client.NewConfined(os.Getenv(sandbox.SocketVariable), os.Getenv("MIDDLEMAN_TOKEN"))
	_, err := c.Spawn(context.Background(), os.Getenv("MIDDLEMAN_SESSION"), api.NewWorker{Name: "worker", Session: api.NewSession{Command: []string{"cat"}}})
	fmt.Printf("spawn: %v.\n", err)
	_, err = net.Dial("unix", os.Args[2])
	fmt.Printf("socket: %v.\n", err)
	_, _ = io.Copy(io.Discard, os.Stdin)
	os.Exit(0)
}

// patience is how long a test waits for what must happen.
const patience = time.Minute

// place is a data directory and all that outlives a server on it.
type place struct {
	dirs       config.Dirs
	owners     *ptyowner.Backend
	backend    terminal.Backend // the one that sessions live in
	repository string
	address    string // where the next server listens, "" for any port
}

// eachBackend runs a test once with sessions in pty-owners and once in tmux.
func eachBackend(t *testing.T, test func(*testing.T, *place)) {
	t.Run("pty-owner", func(t *testing.T) { test(t, newPlace(t)) })
	t.Run("tmux", func(t *testing.T) {
		program := testenv.RequireTool(t, "tmux")
		p := newPlace(t)
		o := p.options()
		o.Host = tmux.New(tmux.Options{Sessions: o.Sessions, Runtime: o.Runtime, Config: p.dirs.Config})
		p.owners = ptyowner.New(o)
		p.backend = p.owners
		t.Cleanup(func() {
			p.stopAll(t)
			sockets, err := filepath.Glob(filepath.Join(p.dirs.Runtime, "tmux*.sock"))
			if err != nil {
				t.Error(err)
			}
			for _, socket := range sockets {
				_ = exec.Command(program, "-S", socket, "kill-server").Run() // it may have ended by itself
			}
		})
		test(t, p)
	})
}

func newPlace(t *testing.T) *place {
	t.Helper()
	home := testenv.ShortDir(t)
	p := &place{dirs: config.Dirs{
		Data: filepath.Join(home, "data"), Config: filepath.Join(home, "config"), Runtime: filepath.Join(home, "run"),
	}}
	t.Cleanup(func() { p.endHolder(t) })
	p.owners = ptyowner.New(p.options())
	p.backend = p.owners
	p.repository = filepath.Join(home, "repository")
	git(t, home, "init", "-q", "-b", "main", p.repository)
	write(t, filepath.Join(p.repository, "file"), "content\n")
	git(t, p.repository, "add", ".")
	git(t, p.repository, "commit", "-q", "-m", "first")
	t.Cleanup(func() { p.stopAll(t) })
	return p
}

// options are those of a backend of the place.
func (p *place) options() ptyowner.Options {
	return ptyowner.Options{Data: p.dirs.Data, Sessions: p.dirs.Sessions(), Runtime: p.dirs.Runtime}
}

// stopAll ends every session that the test has left and waits for the owners.
func (p *place) stopAll(t *testing.T) {
	ids, err := p.backend.List(context.Background())
	if err != nil {
		t.Error(err)
	}
	for _, id := range ids {
		if err := p.backend.Session(id).Stop(context.Background(), -1); err != nil {
			t.Errorf("stop session %s: %v", id, err)
		}
	}
	p.owners.Wait()
}

// endHolder gives the port up that servers with logins have left held.
func (p *place) endHolder(t *testing.T) {
	t.Helper()
	holder, _, ls, err := heldport.Find(p.dirs.PortSocket())
	if errors.Is(err, heldport.ErrNone) {
		return
	}
	for _, l := range ls {
		err = errors.Join(err, l.Close())
	}
	if err == nil {
		err = holder.End()
	}
	if err != nil {
		t.Error(err)
	}
}

func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-C", dir}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null",
		"GIT_AUTHOR_NAME=t", "GIT_AUTHOR_EMAIL=t@example.org", "GIT_COMMITTER_NAME=t", "GIT_COMMITTER_EMAIL=t@example.org")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// running is a server that answers.
type running struct {
	*server.Server
	t      *testing.T
	place  *place
	store  *store.Store
	socket *http.Client // over the Unix socket
	tcp    string       // host:port, as browsers know it
	at     string       // where it listens
	stop   func()
}

// serve starts a server on p; its end is the test's, or stop's.
func (p *place) serve(t *testing.T, change ...func(*server.Options)) *running {
	t.Helper()
	listeners, err := listen.Open(listen.Options{Dirs: p.dirs, Address: cmp.Or(p.address, "127.0.0.1:0"), Executable: os.Args[0], Version: "test", OwnTCP: true})
	if err != nil {
		t.Fatal(err)
	}
	db, err := store.Open(t.Context(), p.dirs.Database())
	if err != nil {
		t.Fatal(err)
	}
	o := server.Options{
		Options: app.Options{
			Store:      db,
			Workspaces: workspace.New(workspace.Options{Base: p.dirs.Workspaces()}),
			Backends:   []terminal.Backend{p.backend},
			Dirs:       p.dirs,
			Executable: os.Args[0],
			Environ: func() []string {
				return append(os.Environ(), "SHELL=/bin/sh", "SECRET_TOKEN=leak", "SSH_AUTH_SOCK=leak")
			},
			Login:           login{},
			JournalBytes:    1 << 20,
			Grace:           time.Second,
			KeepTranscripts: -1,
			Watch:           watch.Limits{Total: 4096, Tree: 256},
			StatusWait:      patience, // a look may take long on a busy machine
			Log:             slog.New(slog.NewTextHandler(testLog{t}, nil)),
		},
		Web:      http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "web client") }),
		Version:  "test",
		Instance: listeners.Instance,
		Port:     listeners.Port,
		Own:      listeners.Own,
		OwnTCP:   listeners.OwnTCP,
	}
	for _, f := range change {
		f(&o)
	}
	if o.TLS != nil {
		o.Port = nil
	}
	s, err := server.New(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var served sync.WaitGroup
	served.Go(func() {
		if err := s.Serve(ctx, listeners.Unix, listeners.TCP...); err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", p.dirs.ServerSocket())
	}}
	r := &running{Server: s, t: t, place: p, store: db, socket: &http.Client{Transport: transport}, at: listeners.TCP[0].Addr().String()}
	r.tcp = r.at
	if name := listeners.Port.Name; o.Port != nil && name != "" {
		r.tcp = net.JoinHostPort(name, port(r.at))
	}
	var once sync.Once
	r.stop = func() {
		once.Do(func() {
			cancel()
			served.Wait()
			transport.CloseIdleConnections()
			for _, c := range []io.Closer{listeners, db} {
				if err := c.Close(); err != nil {
					t.Errorf("close: %v", err)
				}
			}
		})
	}
	t.Cleanup(r.stop)
	<-s.Ready()
	return r
}

// login is a user's login environment: this process's, with another shell.
type login struct{ why error }

func (l login) Get(context.Context) ([]string, error) {
	return append(slices.DeleteFunc(os.Environ(), func(kv string) bool { return strings.HasPrefix(kv, "TERM=") }), "SHELL=/bin/sh", "OF_THE_LOGIN=yes"), l.why
}

func (login) Minimum() []string {
	return []string{"HOME=" + os.Getenv("HOME"), "USER=tester", "LOGNAME=tester", "SHELL=/bin/sh", "PATH=" + os.Getenv("PATH")}
}

// testLog shows the server's log with the test that failed.
type testLog struct{ t *testing.T }

func (l testLog) Write(p []byte) (int, error) {
	l.t.Log(strings.TrimSpace(string(p)))
	return len(p), nil
}

// answer is a response, read.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// problem decodes the body of a refusal and checks its shape.
func (a answer) problem(t *testing.T) api.Problem {
	t.Helper()
	var p api.Problem
	if err := json.Unmarshal(a.body, &p); err != nil {
		t.Fatalf("status %d is no problem: %s", a.status, a.body)
	}
	if got := a.header.Get("Content-Type"); got != "application/problem+json" {
		t.Errorf("content type %q", got)
	}
	if p.Status != a.status || p.Code == "" || p.Detail == "" || p.Type == "" || p.Title == "" {
		t.Errorf("problem is not whole: status %d: %s", a.status, a.body)
	}
	return p
}

// call asks over the Unix socket.
func (r *running) call(method, path string, in any, header ...string) answer {
	r.t.Helper()
	return r.do(r.socket, r.request(method, "http://localhost/api/v1"+path, in, header...))
}

// browse asks over TCP, with nothing but what is given.
func (r *running) browse(method, path string, in any, header ...string) answer {
	r.t.Helper()
	return r.do(browser, r.request(method, "http://"+r.tcp+path, in, header...))
}

// browser keeps neither connections nor cookies, and follows nothing.
var browser = &http.Client{
	Transport:     testenv.BrowserTransport(),
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

func (r *running) request(method, url string, in any, header ...string) *http.Request {
	r.t.Helper()
	var body io.Reader
	switch in := in.(type) {
	case nil:
	case []byte:
		body = bytes.NewReader(in)
		header = append(header, "Content-Type", "application/octet-stream")
	default:
		data, err := json.Marshal(in)
		if err != nil {
			r.t.Fatal(err)
		}
		body = bytes.NewReader(data)
		header = append(header, "Content-Type", "application/json")
	}
	req, err := http.NewRequestWithContext(r.t.Context(), method, url, body)
	if err != nil {
		r.t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		if header[i] == "Host" {
			req.Host = header[i+1]
		}
		req.Header.Set(header[i], header[i+1])
	}
	return req
}

func (r *running) do(c *http.Client, req *http.Request) answer {
	r.t.Helper()
	resp, err := c.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	if strings.HasSuffix(resp.Header.Get("Content-Type"), "json") {
		if at := nullIn(body); at != "" {
			r.t.Errorf("%s %s: %s is null: a client would have to ask before it reads a list: %s", req.Method, req.URL.Path, at, body)
		}
	}
	return answer{resp.StatusCode, resp.Header, body}
}

// nullIn is the path of the first null in a JSON text, and empty where there is none.
func nullIn(text []byte) string {
	var value any
	if json.Unmarshal(text, &value) != nil {
		return ""
	}
	var find func(path string, value any) string
	find = func(path string, value any) string {
		switch value := value.(type) {
		case nil:
			return cmp.Or(path, "all of it")
		case map[string]any:
			for name, v := range value {
				if at := find(path+"."+name, v); at != "" {
					return at
				}
			}
		case []any:
			for i, v := range value {
				if at := find(fmt.Sprintf("%s[%d]", path, i), v); at != "" {
					return at
				}
			}
		}
		return ""
	}
	return find("", value)
}

// get decodes the answer to a request that must succeed.
func get[T any](r *running, method, path string, in any, header ...string) T {
	r.t.Helper()
	a := r.call(method, path, in, header...)
	var out T
	if a.status >= 300 {
		r.t.Fatalf("%s %s: status %d: %s", method, path, a.status, a.body)
	}
	if err := json.Unmarshal(a.body, &out); err != nil {
		r.t.Fatalf("%s %s: %v: %s", method, path, err, a.body)
	}
	return out
}

// workspace makes one and returns it when it is ready.
func (r *running) workspace(name string, first *api.NewSession) api.Workspace {
	r.t.Helper()
	created := get[api.Created](r, "POST", "/workspaces", api.NewWorkspace{Name: name, Directory: r.place.repository, Session: first})
	w := get[api.Workspace](r, "GET", "/workspaces/"+created.Workspace.ID+"?wait=60s", nil)
	if w.State != workspace.StateReady {
		r.t.Fatalf("workspace is %s: %s", w.State, w.Error)
	}
	return w
}

// session starts one.
func (r *running) session(w api.Workspace, command ...string) api.Session {
	r.t.Helper()
	return get[api.Session](r, "POST", "/workspaces/"+w.ID+"/sessions", api.NewSession{Command: command})
}

// knock opens a TCP connection and says something on it.
func (r *running) knock(text string) net.Conn {
	r.t.Helper()
	conn, err := net.Dial("tcp", r.at)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { conn.Close() })
	_, _ = io.WriteString(conn, text) // one that was let go of at once fails, which is an answer too
	return conn
}
