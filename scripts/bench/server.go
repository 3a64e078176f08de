//go:build linux

package main

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/coder/websocket"

	"middleman/internal/api"
	"middleman/internal/client"
	"middleman/internal/config"
	"middleman/workspace"
)

// server is a real `middleman serve` with directories of its own.
type server struct {
	home    string
	cmd     *exec.Cmd
	base    string // http://host:port
	browser *http.Client
	client  *client.Client
}

// startServer starts one and logs a browser in.
func (b *bench) startServer(home string) (*server, error) {
	s := &server{home: home}
	s.cmd = exec.Command(b.binary, "serve", "--listen", "127.0.0.1:0")
	s.cmd.Env = s.env()
	log, err := os.OpenFile(filepath.Join(b.dir, "server.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	s.cmd.Stderr = log
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	var link string
	for lines := bufio.NewScanner(out); link == "" && lines.Scan(); {
		if l, ok := strings.CutPrefix(lines.Text(), "log in with "); ok {
			link = l
		}
	}
	if link == "" {
		s.stop()
		said, _ := os.ReadFile(log.Name()) // what it says is all there is
		return nil, fmt.Errorf("%s serve printed no link to log in with: %s", b.binary, said)
	}
	if err := s.logIn(link); err != nil {
		s.stop()
		return nil, err
	}
	s.client = client.New(s.dirs().ServerSocket())
	return s, nil
}

func (s *server) env() []string {
	return append(os.Environ(), "MIDDLEMAN_HOME="+s.home, "MIDDLEMAN_SESSION=")
}

func (s *server) dirs() config.Dirs {
	return config.Dirs{
		Data: filepath.Join(s.home, "data"), Config: filepath.Join(s.home, "config"), Runtime: filepath.Join(s.home, "run"),
	}
}

func (s *server) logIn(link string) error {
	jar, err := cookiejar.New(nil)
	if err != nil {
		return err
	}
	s.browser = &http.Client{Jar: jar}
	resp, err := s.browser.Get(link)
	if err != nil {
		return err
	}
	resp.Body.Close()
	at, err := url.Parse(link)
	if err != nil {
		return err
	}
	s.base = "http://" + at.Host
	return nil
}

// stop ends the server; its sessions go on.
func (s *server) stop() {
	if s == nil {
		return
	}
	_ = s.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
	late := time.AfterFunc(10*time.Second, func() { s.cmd.Process.Kill() })
	defer late.Stop()
	_ = s.cmd.Wait() // how it ended is no figure
}

// newWorkspace makes an empty directory, where sessions can be started.
func (s *server) newWorkspace(ctx context.Context) (api.Workspace, error) {
	created, err := s.client.CreateWorkspace(ctx, api.NewWorkspace{Mode: workspace.ModeDirectory}, nil)
	return created.Workspace, err
}

// removeWorkspace stops what runs in it.
func (s *server) removeWorkspace(ctx context.Context, id string) error {
	_, err := s.client.DeleteWorkspace(context.WithoutCancel(ctx), id, client.Consent{DiscardWork: true, StopSessions: true}, false)
	return err
}

// openChain is a program behind an owner, the server and a WebSocket.
func openChain(b *bench, argv []string) (*view, error) {
	w, err := b.server.newWorkspace(b.ctx)
	if err != nil {
		return nil, err
	}
	remove := func() {
		if err := b.server.removeWorkspace(b.ctx, w.ID); err != nil {
			fmt.Fprintln(os.Stderr, "bench: remove workspace:", err)
		}
	}
	started, err := b.server.client.StartSession(b.ctx, w.ID, api.NewSession{Command: argv, Backend: "pty-owner", Size: b.size})
	if err != nil {
		remove()
		return nil, err
	}
	conn, err := b.server.dial(b.ctx, started.ID, "from=0&max_lag=0")
	if err != nil {
		remove()
		return nil, err
	}
	socket := &socket{ctx: b.ctx, conn: conn}
	return &view{
		read:  socket.read,
		write: func(p []byte) error { return conn.Write(b.ctx, websocket.MessageBinary, p) },
		close: sync.OnceFunc(func() {
			conn.CloseNow()
			remove()
		}),
	}, nil
}

// dial opens a session's WebSocket as the web client does.
func (s *server) dial(ctx context.Context, session, query string) (*websocket.Conn, error) {
	address := "ws" + strings.TrimPrefix(s.base, "http") + "/api/v1/sessions/" + session + "/terminal?" + query
	conn, _, err := websocket.Dial(ctx, address, &websocket.DialOptions{
		HTTPClient: s.browser, HTTPHeader: http.Header{"Origin": {s.base}},
		CompressionMode: websocket.CompressionDisabled,
	})
	if err != nil {
		return nil, err
	}
	conn.SetReadLimit(64 << 20)
	return conn, nil
}

// socket reads a WebSocket and acknowledges as the web client does.
type socket struct {
	ctx           context.Context
	conn          *websocket.Conn
	offset, acked uint64
}

func (s *socket) read() ([]byte, error) {
	for {
		kind, p, err := s.conn.Read(s.ctx)
		if err != nil {
			return nil, err
		}
		if kind != websocket.MessageBinary {
			continue
		}
		s.offset += uint64(len(p))
		if s.offset-s.acked >= 32<<10 {
			s.acked = s.offset
			ack := fmt.Appendf(nil, `{"type":"ack","offset":%d}`, s.offset)
			if err := s.conn.Write(s.ctx, websocket.MessageText, ack); err != nil {
				return nil, err
			}
		}
		return p, nil
	}
}
