package sessions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"sync"
	"time"

	"middleman/cmd/middleman/internal/catalog"
	"middleman/cmd/middleman/internal/cli"
	"middleman/cmd/middleman/internal/viewer"
	"middleman/internal/ipc"
	"middleman/internal/private"
	"middleman/terminal"
)

// A command in a session cannot attach: a viewer has the terminal already. It asks
// that viewer to go to the other session instead, over a socket of the viewer's.
// The request names the session by its id, and the viewer asks its user.

// maxRequest bounds a request and an answer, in bytes. requestTime is how long
// either side takes to send its own.
const (
	maxRequest  = 4 << 10
	requestTime = 2 * time.Second
)

// request asks a viewer for another session.
type request struct {
	Session  string `json:"session"`
	Takeover bool   `json:"takeover,omitempty"`
}

// answer says whether the viewer shows the session; Error is empty if it does.
type answer struct {
	Error string `json:"error,omitempty"`
}

// parseRequest parses a request, which anybody may have sent.
func parseRequest(raw []byte) (request, error) {
	var r request
	if err := json.Unmarshal(raw, &r); err != nil {
		return request{}, fmt.Errorf("request for another session: %w", err)
	}
	return r, terminal.CheckID(r.Session)
}

// outerSession returns the id of the session that this command runs in, "" for
// none.
func outerSession() string { return os.Getenv("MIDDLEMAN_SESSION") }

// checkOuter returns an error if this command runs in a session that no attach
// shows.
func checkOuter(c *cli.CLI) error {
	outer := outerSession()
	if outer == "" {
		return nil
	}
	err := terminal.CheckID(outer)
	if err == nil {
		_, err = os.Lstat(c.Dirs.ViewerSocket(outer))
	}
	if err == nil {
		return nil
	}
	return notShown()
}

func notShown() error {
	return &cli.NotAttachedError{Err: errors.New("this command runs inside a session (MIDDLEMAN_SESSION is set), and no `middleman attach` shows that: choose the other session where you see this one, attach from a terminal outside of it, or use -d")}
}

// goInstead asks the viewer of the session outer to go to t. It returns nil when
// the viewer shows t.
func (c commands) goInstead(ctx context.Context, outer string, t catalog.Target, o viewer.Options) error {
	switch {
	case c.Runtime != "":
		return &cli.NotAttachedError{Err: errors.New("a session of another runtime cannot be attached inside a session: use a terminal outside of it")}
	case o.Mode == terminal.ModeWatch:
		return &cli.NotAttachedError{Err: errors.New("watch cannot be used inside a session: use attach, or a terminal outside of it")}
	case o.From != nil || o.Clipboard != "":
		return cli.Usagef("--from and --clipboard cannot be used inside a session: the terminal goes to the other session as it is")
	case t.Shown.ID == outer:
		return &cli.NotAttachedError{Err: fmt.Errorf("this terminal shows %s already", t.Label())}
	}
	err := askViewer(ctx, c.Dirs.ViewerSocket(outer), request{t.Shown.ID, o.Takeover})
	if errors.Is(err, errNoViewer) {
		return notShown()
	}
	if err != nil {
		return &cli.NotAttachedError{Err: fmt.Errorf("not attached to %s: %w", t.Label(), err)}
	}
	return nil
}

// errNoViewer: nobody listens at the socket.
var errNoViewer = errors.New("no viewer answers")

// askViewer sends a request and waits for the answer, until ctx ends.
func askViewer(ctx context.Context, socket string, r request) error {
	dialing, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	conn, err := ipc.Dial(dialing, socket)
	if err != nil {
		return fmt.Errorf("%w: %w", errNoViewer, err)
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	if err := ipc.CheckPeer(conn); err != nil {
		return err
	}
	raw, err := json.Marshal(r)
	if err == nil {
		_, err = conn.Write(append(raw, '\n'))
	}
	var a answer
	if err == nil {
		err = json.NewDecoder(io.LimitReader(conn, maxRequest)).Decode(&a)
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return fmt.Errorf("the terminal that shows this session did not answer: %w", err)
	case a.Error != "":
		return errors.New(a.Error)
	}
	return nil
}

// inbox gets the requests of programs in a session that a viewer shows. It is open
// while the viewer does.
type inbox struct {
	c        *cli.CLI
	path     string
	requests chan viewer.Request

	listener *ipc.Listener
	bound    fs.FileInfo // the socket's
	end      context.CancelFunc
	ended    sync.WaitGroup
}

func newInbox(c *cli.CLI, id string) *inbox {
	return &inbox{c: c, path: c.Dirs.ViewerSocket(id), requests: make(chan viewer.Request)}
}

// open begins to listen.
func (in *inbox) open(ctx context.Context) error {
	err := private.MakeDir(in.c.Dirs.Sockets())
	if err == nil {
		in.listener, err = ipc.Listen(in.path)
	}
	if err != nil {
		return fmt.Errorf("listen for attach inside the session: %w", err)
	}
	if in.bound, err = os.Lstat(in.path); err != nil {
		in.bound = nil
	}
	ctx, in.end = context.WithCancel(ctx)
	l := in.listener
	in.ended.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return // close has closed it
			}
			in.receive(ctx, conn)
		}
	})
	return nil
}

// receive passes one request on to the viewer. It takes one after the other, so
// that the system bounds how many wait.
func (in *inbox) receive(ctx context.Context, conn net.Conn) {
	reply := func(err error) {
		defer conn.Close()
		var a answer
		if err != nil {
			a.Error = err.Error()
		}
		raw, _ := json.Marshal(a) // a struct of one string
		conn.SetWriteDeadline(time.Now().Add(requestTime))
		conn.Write(append(raw, '\n')) // who asked may have left
	}
	r, t, err := in.read(ctx, conn)
	if err != nil {
		reply(err)
		return
	}
	tell := func(err error) { reply(explainBusy(err, t.Label())) }
	select {
	case in.requests <- viewer.Request{ID: r.Session, Label: t.Label(), Takeover: r.Takeover, Answer: tell}:
	case <-ctx.Done():
		reply(errors.New("the terminal that shows this session left it"))
	}
}

// read reads a request and finds the session that it names.
func (in *inbox) read(ctx context.Context, conn net.Conn) (r request, t catalog.Target, err error) {
	if err := ipc.CheckPeer(conn); err != nil {
		return r, t, err
	}
	conn.SetReadDeadline(time.Now().Add(requestTime))
	defer context.AfterFunc(ctx, func() { conn.SetReadDeadline(time.Now()) })()
	var raw json.RawMessage
	if err := json.NewDecoder(io.LimitReader(conn, maxRequest)).Decode(&raw); err != nil {
		return r, t, err
	}
	if r, err = parseRequest(raw); err != nil {
		return r, t, err
	}
	t, err = catalog.Find(ctx, in.c, r.Session)
	return r, t, err
}

// close ends open. It leaves the socket of a viewer that took the session over.
func (in *inbox) close() {
	if in.listener == nil {
		return
	}
	now, err := os.Lstat(in.path)
	in.listener.SetUnlinkOnClose(err == nil && in.bound != nil && os.SameFile(now, in.bound))
	in.end()
	in.listener.Close()
	in.ended.Wait()
	in.listener = nil
}
