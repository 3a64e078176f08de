package client

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"middleman/internal/api"
	"middleman/internal/config"
	"middleman/internal/ipc"
	"middleman/internal/pinned"
	"middleman/internal/private"
)

// ErrNoServer: no process listens on the server's socket.
var ErrNoServer = errors.New("no server is running")

// ErrUnanswered: the request was sent, but no answer came, because the server
// ended or the client stopped waiting. The server may have done a part of it.
var ErrUnanswered = errors.New("the server took the request and did not answer, so it is not known whether anything was started or changed")

const (
	dialTimeout   = 2 * time.Second
	healthTimeout = 5 * time.Second
	maxBody       = 64 << 20 // bytes of an answer; a page of a list is far smaller
	maxProblem    = 1 << 20  // bytes of an answer that refuses
)

// Client calls the API of the server behind one Unix socket. It is safe for
// concurrent use.
type Client struct {
	http *http.Client
	// token is that of a session or of a remote server, "" for a client with the
	// user's own rights.
	token string
	// base is the URL that the paths of the API follow.
	base string
	// runtime is what On was called with, and here the client of which it made this one;
	// both are unset without a runtime.
	runtime string
	here    *Client
}

const localBase = "http://localhost/api/v1"

// New returns a client of the server at the Unix socket with that path. It does
// no I/O.
func New(socket string) *Client {
	return over(func(ctx context.Context, _, _ string) (net.Conn, error) {
		if err := private.Dir(filepath.Dir(socket)); err != nil {
			return nil, err
		}
		return dial(ctx, socket)
	})
}

// NewConfined returns a client for the processes of a sandboxed session, with that
// session's token. There the users of the socket's directories cannot be told, so
// only the process behind the socket is checked. Under Landlock there are no Unix
// sockets, and the server is reached on loopback.
func NewConfined(socket, token string) *Client {
	c := over(func(ctx context.Context, _, _ string) (net.Conn, error) {
		conn, err := dial(ctx, socket)
		if errors.Is(err, syscall.EAFNOSUPPORT) || errors.Is(err, syscall.EACCES) {
			ctx, cancel := context.WithTimeout(ctx, dialTimeout)
			defer cancel()
			return pinned.Dial(ctx, filepath.Join(filepath.Dir(socket), config.OwnFileName))
		}
		return conn, err
	})
	c.token = token
	return c
}

func over(dial func(ctx context.Context, network, address string) (net.Conn, error)) *Client {
	return &Client{http: &http.Client{Transport: &http.Transport{DialContext: dial}}, base: localBase}
}

// NewRemote returns a client of another server, which transport reaches at origin,
// such as https://box:8091. token authenticates the calls, unless it is "".
func NewRemote(transport http.RoundTripper, origin, token string) *Client {
	return &Client{
		http:  &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
		token: token, base: origin + "/api/v1",
	}
}

// On returns a client of the runtime with that name, through this server. It
// shares c's connections. With the name "" it is c itself.
func (c *Client) On(runtime string) *Client {
	if runtime == "" {
		return c
	}
	return &Client{http: c.http, token: c.token, base: c.base + "/runtimes/" + url.PathEscape(runtime), runtime: runtime, here: c.Here()}
}

// Here returns the client of which On made c, or c.
func (c *Client) Here() *Client {
	if c.here != nil {
		return c.here
	}
	return c
}

// Runtime returns the name of the runtime that On was called with, or "".
func (c *Client) Runtime() string { return c.runtime }

// Target returns what one types for something on a runtime, or on this machine for "".
func Target(runtime, name string) string {
	if runtime == "" {
		return name
	}
	return runtime + ":" + name
}

// dial connects to the server's socket. Before it sends anything, it checks that a
// process of this user listens. No other user may have put the socket there.
func dial(ctx context.Context, socket string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	conn, err := ipc.Dial(ctx, socket)
	if err != nil {
		return nil, err
	}
	if err := ipc.CheckPeer(conn); err != nil {
		return nil, errors.Join(fmt.Errorf("socket %s does not belong to this user's server: %w", socket, err), conn.Close())
	}
	return conn, nil
}

// Connect returns a client of the running server, once the server has answered.
// ErrNoServer means that no server runs. Any other error means that one runs, or
// may run, but does not answer. The caller closes the client.
func Connect(ctx context.Context, dirs config.Dirs) (*Client, error) {
	c, err := Open(dirs)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	err = c.health(ctx)
	if wasEnding(err) {
		err = c.health(ctx) // by now it has ended, or another runs
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// wasEnding reports whether err is typical of a server that has ended since the
// connection to it was made: before it read the request, or after.
func wasEnding(err error) bool {
	return errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, io.EOF) ||
		err != nil && strings.Contains(err.Error(), closedIdle)
}

// closedIdle is what net/http says, by an error that it does not export, where it sees
// the end of a connection before it has written the request.
const closedIdle = "http: server closed idle connection"

// Open returns a client of the server that started last, without asking whether it
// answers. The caller closes the client.
func Open(dirs config.Dirs) (*Client, error) {
	serve, err := ReadServe(dirs)
	if err != nil {
		return nil, err
	}
	return New(serve.Socket), nil
}

// ReadServe reads the address and socket of the server that started last. If
// their file is missing or corrupt, the error is ErrNoServer.
func ReadServe(dirs config.Dirs) (api.Serve, error) {
	raw, err := readOurs(dirs.Runtime, dirs.ServeFile())
	if errors.Is(err, fs.ErrNotExist) {
		return api.Serve{}, ErrNoServer
	}
	if err != nil {
		return api.Serve{}, fmt.Errorf("read how to reach the server: %w", err)
	}
	serve, err := decodeServe(raw, dirs.ServerSocket())
	if err != nil {
		// No server can be reached by it. Only the server's lock tells if one runs.
		return api.Serve{}, fmt.Errorf("%w that can be found: read %s: %w", ErrNoServer, dirs.ServeFile(), err)
	}
	return serve, nil
}

// decodeServe decodes serve.json. It ignores the socket in the file, and uses
// the given one.
func decodeServe(raw []byte, socket string) (serve api.Serve, err error) {
	err = json.Unmarshal(raw, &serve)
	serve.Socket = socket
	return serve, err
}

// readOurs reads a file in dir, after private.Dir has checked dir.
func readOurs(dir, path string) ([]byte, error) {
	if err := private.Dir(dir); err != nil {
		return nil, err
	}
	return private.ReadFile(path)
}

// As returns a client that calls as a process of the session with that token, and
// may do no more than that. It shares c's connections.
func (c *Client) As(token string) *Client { return &Client{http: c.http, token: token, base: c.base} }

// Close closes idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// health returns nil if the server answers.
func (c *Client) health(ctx context.Context) error {
	return c.call(ctx, http.MethodGet, "/health", nil, nil)
}

// call sends in as JSON, unless it is nil, and decodes the answer into out,
// unless that is nil. An answer with status 400 or more is an *api.Problem.
func (c *Client) call(ctx context.Context, method, path string, in, out any) error {
	var body io.Reader
	if in != nil {
		raw, err := encode(in)
		if err != nil {
			return err
		}
		body = bytes.NewReader(raw)
	}
	req, err := c.request(ctx, method, path, body)
	if err != nil {
		return err
	}
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if method == http.MethodPost {
		req.Header.Set("Idempotency-Key", rand.Text())
	}
	resp, err := c.send(req, path)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxBody))
	if err != nil {
		return transportError(method, path, method != http.MethodGet, err)
	}
	if resp.StatusCode >= 400 {
		return problem(method, path, resp.StatusCode, raw)
	}
	if out == nil {
		return nil
	}
	if err := Decode(raw, out); err != nil {
		return fmt.Errorf("read the server's answer to %s %s: %w", method, path, err)
	}
	return nil
}

// request returns a request with the caller's credential.
func (c *Client) request(ctx context.Context, method, path string, body io.Reader) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, body)
	if err != nil {
		return nil, fmt.Errorf("ask the server: %w", err)
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	return req, nil
}

// Do sends a request and returns the answer, whatever its status. The caller closes
// the answer's body.
func (c *Client) Do(ctx context.Context, method, path string, header http.Header, body io.Reader) (*http.Response, error) {
	req, err := c.request(ctx, method, path, body)
	if err != nil {
		return nil, err
	}
	for name, values := range header {
		req.Header[name] = values
	}
	return c.send(req, path)
}

// send sends a request. The error says whether any of one that may change something was
// sent.
func (c *Client) send(req *http.Request, path string) (*http.Response, error) {
	var sent atomic.Bool // by any attempt: the transport may retry
	if req.Method != http.MethodGet {
		trace := &httptrace.ClientTrace{WroteHeaders: func() { sent.Store(true) }}
		req = req.WithContext(httptrace.WithClientTrace(req.Context(), trace))
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, transportError(req.Method, path, sent.Load(), err)
	}
	return resp, nil
}

// do is Do for an answer that is not JSON. An answer with status 400 or more is an
// *api.Problem.
func (c *Client) do(ctx context.Context, method, path string, body io.Reader) (*http.Response, error) {
	resp, err := c.Do(ctx, method, path, nil, body)
	if err != nil || resp.StatusCode < 400 {
		return resp, err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxProblem))
	if err != nil {
		return nil, transportError(method, path, method != http.MethodGet, err)
	}
	return nil, problem(method, path, resp.StatusCode, raw)
}

// Decode decodes an answer of a server, and refuses it if an id is not valid.
func Decode(raw []byte, out any) error {
	if err := json.Unmarshal(raw, out); err != nil {
		return err
	}
	return checkIDs(out)
}

// transportError returns ErrNoServer if no server listens, and ErrUnanswered if a
// request that may change something was sent. Such a request must not be
// repeated: the server may have carried it out, and a server that starts anew
// does not remember requests without an answer.
func transportError(method, path string, sent bool, err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		err = e.Err
	}
	if sent {
		return fmt.Errorf("%w (%w): look with `middleman ls --all` before you ask again", ErrUnanswered, err)
	}
	if errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, pinned.ErrNotThere) {
		return ErrNoServer
	}
	return fmt.Errorf("ask the server: %s %s: %w", method, path, err)
}

func problem(method, path string, status int, raw []byte) error {
	p := &api.Problem{}
	if err := Decode(raw, p); err != nil || (p.Detail == "" && p.Title == "") {
		text, _, _ := strings.Cut(strings.TrimSpace(string(raw)), "\n")
		return fmt.Errorf("ask the server: %s %s: status %d: %.200s", method, path, status, text)
	}
	if p.Detail == "" {
		p.Detail = p.Title
	}
	if p.Status == 0 {
		p.Status = status
	}
	return p
}

// DialServer connects to the socket of the running server. ErrNoServer means that
// none runs.
func DialServer(ctx context.Context, dirs config.Dirs) (net.Conn, error) {
	serve, err := ReadServe(dirs)
	if err != nil {
		return nil, err
	}
	if err := private.Dir(filepath.Dir(serve.Socket)); err != nil {
		return nil, err
	}
	return dial(ctx, serve.Socket)
}
