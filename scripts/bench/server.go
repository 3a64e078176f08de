//go:build linux

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
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
	"middleman/internal/heldport"
	"middleman/internal/testenv"
	"middleman/workspace"
)

// server is a real `middleman serve` with directories of its own.
type server struct {
	home    string
	more    []string // of its environment
	cmd     *exec.Cmd
	browser *testenv.Browser
	client  *client.Client
}

// startServer starts one and logs a browser in. env adds to its environment.
func (b *bench) startServer(home string, env ...string) (*server, error) {
	s := &server{home: home, more: env}
	s.cmd = exec.Command(b.binary, "serve", "--print-link", "--listen", "127.0.0.1:0")
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
	if s.browser, err = testenv.LogIn(context.Background(), link); err != nil {
		s.stop()
		return nil, err
	}
	s.client = client.New(s.dirs().ServerSocket())
	return s, nil
}

func (s *server) env() []string {
	return append(append(os.Environ(), "MIDDLEMAN_HOME="+s.home, "MIDDLEMAN_SESSION=",
		"JOURNAL_STREAM=", "INVOCATION_ID=", "NOTIFY_SOCKET="), s.more...)
}

func (s *server) dirs() config.Dirs {
	return config.Dirs{
		Data: filepath.Join(s.home, "data"), Config: filepath.Join(s.home, "config"), Runtime: filepath.Join(s.home, "run"),
	}
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

// letGo ends what is meant to outlive a server: the process that keeps the port
// of browsers that are logged in.
func (s *server) letGo() error {
	if s == nil {
		return nil
	}
	holder, _, listeners, err := heldport.Find(s.dirs().PortSocket())
	if errors.Is(err, heldport.ErrNone) {
		return nil
	}
	for _, l := range listeners {
		err = errors.Join(err, l.Close())
	}
	if err != nil {
		return err
	}
	return holder.End()
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

// startSession starts a program in a workspace of its own, which remove ends.
func (b *bench) startSession(argv []string, backend string) (id string, remove func(), err error) {
	w, err := b.server.newWorkspace(b.ctx)
	if err != nil {
		return "", nil, err
	}
	remove = func() {
		if err := b.server.removeWorkspace(b.ctx, w.ID); err != nil {
			fmt.Fprintln(os.Stderr, "bench: remove workspace:", err)
		}
	}
	started, err := b.server.client.StartSession(b.ctx, w.ID, api.NewSession{Command: argv, Backend: backend, Size: b.size})
	if err != nil {
		remove()
		return "", nil, err
	}
	return started.ID, remove, nil
}

// openChain is a program behind an owner, the server and a WebSocket.
func openChain(b *bench, argv []string, backend string) (*view, error) {
	id, remove, err := b.startSession(argv, backend)
	if err != nil {
		return nil, err
	}
	return b.openSocket(b.server, "/sessions/"+id, remove)
}

// openSocket is a WebSocket to a session at a server.
func (b *bench) openSocket(s *server, session string, remove func()) (*view, error) {
	conn, err := s.dialPath(b.ctx, session, "from=0&max_lag=0")
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

// openAttach is a program behind an owner and `middleman attach` on a terminal.
func openAttach(b *bench, argv []string, backend string) (*view, error) {
	id, remove, err := b.startSession(argv, backend)
	if err != nil {
		return nil, err
	}
	v, err := b.spawn([]string{"MIDDLEMAN_HOME=" + b.server.home}, b.binary, "attach", "--from", "0", id)
	if err != nil {
		remove()
		return nil, err
	}
	detach := v.close
	v.close = sync.OnceFunc(func() {
		detach()
		remove()
	})
	return v, nil
}

// dial opens a session's WebSocket, with an access token in place of the web
// client's ticket.
func (s *server) dial(ctx context.Context, session, query string) (*websocket.Conn, error) {
	return s.dialPath(ctx, "/sessions/"+session, query)
}

// dialPath is dial for the path of a session in the API.
func (s *server) dialPath(ctx context.Context, session, query string) (*websocket.Conn, error) {
	access, err := s.browser.Access(ctx)
	if err != nil {
		return nil, err
	}
	address := "ws" + strings.TrimPrefix(s.browser.Origin, "http") + "/api/v1" + session + "/terminal?" + query
	conn, _, err := websocket.Dial(ctx, address, &websocket.DialOptions{
		HTTPHeader: http.Header{"Origin": {s.browser.Origin}, "Authorization": {"Bearer " + access}},
		HTTPClient: s.browser.HTTP, CompressionMode: websocket.CompressionDisabled,
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
