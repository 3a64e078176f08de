//go:build unix

package tmux

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"middleman/internal/fault"
	"middleman/internal/ipc"
	"middleman/internal/private"
	"middleman/terminal/host"
)

// Host is the owner's side of a host: it runs sessions in panes of the private
// tmux server. The zero Host is ready to use.
type Host struct{}

var _ host.Host = Host{}

// Name implements host.Host.
func (Host) Name() string { return Name }

const (
	// startTimeout bounds each try to make a pane. queueTime bounds how long a start
	// waits for others, which make their panes one after the other: on a busy machine
	// fifty at once take a minute. meetTime bounds how long the pane's helpers may
	// take to connect.
	startTimeout = 15 * time.Second
	queueTime    = 2 * time.Minute
	meetTime     = 10 * time.Second
	// endingTime is how long create retries while an ending server is in the
	// way, from its first try on, and leastTries how often it tries at least: on a
	// busy machine one try takes seconds. Such a server, if it has a client left,
	// still listens but rejects others.
	endingTime = 3 * time.Second
	leastTries = 6
	// againAfter is how long create waits before its second try. The wait
	// doubles for each further try.
	againAfter = 5 * time.Millisecond
)

// Start implements host.Host: it makes a tmux session whose pane runs the
// launcher, and lets the launcher start the program.
func (Host) Start(p host.Program) (host.Terminal, int, string, error) {
	var c hostConfig
	if err := json.Unmarshal(p.Config, &c); err != nil {
		return nil, 0, "read the host's settings", err
	}
	for _, kv := range c.Env {
		key, value, _ := strings.Cut(kv, "=")
		os.Setenv(key, value)
	}
	s := &starter{b: c.server(), p: p}
	t, err := s.start(context.Background())
	if err == nil {
		// From here on the session outlives its owner. That must hold before
		// the caller is told that the session has started.
		s.step = "keep the pane"
		err = say(t.conn, order{Keep: true})
	}
	if err != nil {
		s.undo()
		return nil, 0, s.step, err
	}
	return t, t.Program, "", nil
}

// starter is one start of a pane.
type starter struct {
	b    *Server
	p    host.Program
	c    client
	pane paneID // once it is made
	step string // the step that runs now
	conn []*net.UnixConn
}

func (s *starter) start(ctx context.Context) (t *paneTerminal, err error) {
	ctx, cancel := context.WithTimeout(ctx, queueTime)
	defer cancel()
	s.step = "find tmux"
	if s.c, err = s.b.client(ctx); err != nil {
		return nil, &host.Fault{Err: err}
	}
	s.step = "listen for the pane"
	ln, err := ipc.Listen(s.p.Socket)
	if err != nil {
		return nil, err
	}
	defer ln.Close()
	s.step = "make the tmux session"
	if err := s.create(ctx, ln); err != nil {
		return nil, &host.Fault{Err: s.b.suspect(err)}
	}
	s.step = "connect to the pane"
	if t, err = s.meet(ctx, ln); err != nil {
		return nil, &host.Fault{Err: s.b.suspect(err)}
	}
	s.step = "start program"
	if err := s.launch(t); err != nil {
		return nil, fmt.Errorf("%s in %s: %w", s.p.Spec.Argv[0], s.p.Spec.Dir, err)
	}
	return t, t.open()
}

// undoTime bounds how long undo may wait for tmux.
const undoTime = 2 * time.Second

// undo ends the pane of a failed start, and the server if no other session is
// left.
func (s *starter) undo() {
	for _, c := range s.conn {
		c.Close() // this ends the launcher too
	}
	ctx, cancel := context.WithTimeout(context.Background(), undoTime)
	defer cancel()
	if s.pane.id != "" { // on this server: another's pane of that id is not ours
		_, _ = s.c.run(ctx, "if-shell", "-F", fmt.Sprintf("#{==:#{pid},%d}", s.pane.server), "kill-pane -t "+s.pane.id)
	}
	_, _ = s.c.run(ctx, "if-shell", "-F", alone, "kill-server") // an error may mean that it has ended
}

// create makes the tmux session, then gives its pane the marks and the pipe. It
// names the pane by its id, whatever the user's hooks did in between. It tries
// again if the server was about to end.
func (s *starter) create(ctx context.Context, ln *net.UnixListener) error {
	var deadline time.Time
	for tries, wait := 1, againAfter; ; tries, wait = tries+1, wait*2 {
		in := s.b.input(s.c)
		err := in.locked(ctx, func() error {
			if deadline.IsZero() {
				deadline = time.Now().Add(endingTime)
			}
			ctx, cancel := context.WithTimeout(ctx, startTimeout)
			defer cancel()
			return s.tryCreate(ctx, in)
		})
		if err == nil || !serverEnded(err) || tries >= leastTries && time.Now().After(deadline) || ctx.Err() != nil {
			return err
		}
		dismiss(ln, wait)
	}
}

// tryCreate is one try of create. Called by locked: as long as no other process
// of ours starts a server, no pane of another server gets this one's marks.
func (s *starter) tryCreate(ctx context.Context, in inputServer) error {
	revive(ctx, in.Sessions, s.c)
	if !s.c.listening() {
		if err := in.startClient(ctx, s.c, s.c.runFirst); err != nil {
			return err
		}
	}
	if err := s.makePane(ctx); err != nil {
		return err
	}
	// Some versions of tmux let their group connect too. None gives back what was taken.
	_, _ = private.Tighten(s.c.socket) // doctor names a socket that is still open
	if !in.hasClient(s.pane.server) {
		// If the server ends just before new-session, tmux starts another for
		// it, without a control client and in no scope of its own.
		if out, err := s.c.run(ctx, "display-message", "-p", onlyOne); err != nil || out == "1\n" {
			_, _ = s.c.run(ctx, "kill-server") // an error means that it has ended
			return fmt.Errorf("%w: another was started, and ended again", errNoServer)
		}
	}
	return s.markPane(ctx)
}

// dismiss ends the launchers that come within a time. They are in panes of a
// server that is about to end, and that waits for its last pane.
func dismiss(ln *net.UnixListener, d time.Duration) {
	ln.SetDeadline(time.Now().Add(d))
	for {
		conn, err := ln.AcceptUnix()
		if err != nil {
			return
		}
		conn.Close()
	}
}

// makePane makes the session. The launcher then waits in its pane for the
// owner.
func (s *starter) makePane(ctx context.Context) error {
	exe, err := s.b.o.Executable()
	if err != nil {
		return err
	}
	conf, _ := s.b.userConf() // Complaint returns the error
	args := append(slices.Concat(readUserConf(conf), vital),
		"new-session", "-d", "-P", "-F", paneIDFormat, "-s", s.p.Spec.ID, "-c", "/",
		"-x", strconv.Itoa(int(s.p.Size.Cols)), "-y", strconv.Itoa(int(s.p.Size.Rows)),
		"--", exe, CommandPane, s.p.Dir, s.p.Socket)
	out, err := s.c.run(ctx, args...)
	said, pane := cutPaneID(out)
	if s.pane = pane; pane.id == "" {
		// A server that is about to end may print nothing.
		return cmp.Or(err, fmt.Errorf("tmux has made no pane: %w: %q", errNoServer, out))
	}
	if said == "" && err != nil {
		said = err.Error() // tmux refused a setting, and does not name the line
	}
	if said != "" {
		s.b.complain(said)
	}
	return nil
}

// markPane marks the pane as ours, pipes it, and reads the marks back.
func (s *starter) markPane(ctx context.Context) error {
	exe, err := s.b.o.Executable()
	if err != nil {
		return err
	}
	id, mark, pane := s.p.Spec.ID, s.p.Dir, s.pane.id
	out, err := s.c.run(ctx,
		"set-option", "-t", pane, ownerOption, mark,
		";", "set-option", "-p", "-t", pane, ownerOption, mark,
		";", "set-option", "-p", "-t", pane, paneOption, id,
		";", "set-option", "-w", "-t", pane, "window-size", "manual",
		";", "set-option", "-p", "-t", pane, "remain-on-exit", "off",
		// A hook may have given it another size; so may, in tmux 3.2, a client
		// of another session.
		";", "resize-window", "-t", pane, "-x", strconv.Itoa(int(s.p.Size.Cols)), "-y", strconv.Itoa(int(s.p.Size.Rows)),
		";", "select-pane", "-t", pane, "-T", "",
		";", "pipe-pane", "-O", "-t", pane, pipeCommand(exe, s.p.Socket),
		";", "show-options", "-v", "-t", pane, ownerOption,
		";", "show-options", "-p", "-v", "-t", pane, paneOption,
	)
	if err == nil && out != mark+"\n"+id+"\n" {
		err = fmt.Errorf("set the owner mark of %s: tmux has %q", id, out)
	}
	return err
}

// pipeCommand returns the command for pipe-pane: a helper that passes its
// standard input to the owner that listens at socket.
func pipeCommand(exe, socket string) string {
	return formatQuote("exec " + shellQuote(exe) + " " + CommandPipe + " " + shellQuote(socket))
}

// meet accepts the connections of the launcher and of the pipe's helper.
func (s *starter) meet(ctx context.Context, ln *net.UnixListener) (t *paneTerminal, err error) {
	deadline := time.Now().Add(meetTime)
	ln.SetDeadline(deadline)
	t = &paneTerminal{paneState: paneState{Tmux: s.b.input(s.c), Mark: newMark(), PipeSocket: s.p.Socket}}
	var files []*os.File // that were passed
	defer func() {
		if err != nil {
			closeAll(files)
		}
	}()
	for t.conn == nil || t.pipe == nil {
		conn, err := ln.AcceptUnix()
		if err != nil {
			return nil, err
		}
		if err := ipc.CheckPeer(conn); err != nil {
			conn.Close()
			return nil, err
		}
		s.conn = append(s.conn, conn)
		conn.SetDeadline(deadline)
		r := &hearer{conn: conn}
		var g greeting
		if err := r.next(&g); err != nil {
			r.drop()
			return nil, err
		}
		file, err := r.file()
		if err != nil {
			return nil, err
		}
		files = append(files, file)
		switch {
		case g.Role == rolePane && paneID{g.Pane, g.Server} != s.pane:
			conn.Close() // a launcher on a server that has ended
			file.Close()
		case g.Role == rolePane && t.conn == nil:
			t.conn, t.news, t.tty = conn, r, file
			t.Pane, t.Server, t.Launcher = g.Pane, g.Server, g.PID
		case g.Role == rolePipe && t.pipe == nil:
			t.pipe = file
			conn.Close() // lets the helper end
		default:
			return nil, fmt.Errorf("a second %q of the pane", g.Role)
		}
	}
	return t, nil
}

// input describes how to reach or start the control client of a server.
func (s *Server) input(c client) inputServer {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := inputServer{Tmux: c.tmux, Socket: c.socket, Runtime: s.o.Runtime, Sessions: s.o.Sessions, Paste: "-dr"}
	if s.version.has(pasteRaw) {
		i.Paste = "-drS"
	}
	return i
}

// newMark returns a private OSC string, which terminals ignore.
func newMark() []byte { return []byte("\x1b]7767;" + rand.Text()[:26] + "\a") }

// launch lets the launcher start the program.
func (s *starter) launch(t *paneTerminal) error {
	l := launch{Spec: s.p.Spec, Umask: s.p.Umask, Core: s.p.CoreLimit, State: t.paneState, Again: s.p.Again, Env: fault.Env()}
	if err := sendFile(t.conn, l, t.pipe); err != nil {
		return err
	}
	var n news
	switch err := t.news.next(&n); {
	case err != nil:
		return fmt.Errorf("the launcher has ended: %w", err)
	case n.Errno != 0:
		return n.Errno
	case n.Started == 0:
		return errors.New(n.Failed)
	}
	t.Program = n.Started
	t.conn.SetDeadline(time.Time{})
	return private.Replace(filepath.Join(s.p.Dir, paneFile), fmt.Appendln(nil, t.Server, t.Launcher), private.ThisBoot)
}

// Adopt implements host.Host: the launcher has started this process, which
// inherits its descriptors from adoptFD on.
func (Host) Adopt() (host.Terminal, int, error) {
	t := &paneTerminal{}
	if err := t.take([]uintptr{adoptFD, adoptFD + 1, adoptFD + 2}); err != nil {
		return nil, 0, err
	}
	var n news
	err := t.news.next(&n)
	if err == nil && n.State == nil {
		err = errors.New("it does not say what runs")
	}
	if err != nil {
		return nil, 0, fmt.Errorf("read what the launcher says: %w", err)
	}
	t.paneState = *n.State
	host.LetFlow(t.tty)
	return t, t.Program, t.open()
}

// Resume implements host.Host.
func (Host) Resume(fds []uintptr, state json.RawMessage) (host.Terminal, error) {
	t := &paneTerminal{}
	if err := json.Unmarshal(state, &t.paneState); err != nil {
		return nil, err
	}
	if len(fds) != 3 {
		return nil, fmt.Errorf("a pane has 3 descriptors, not %d", len(fds))
	}
	if err := t.take(fds); err != nil {
		return nil, err
	}
	return t, t.open()
}

// take duplicates the descriptors of the connection, the pipe and the terminal,
// in that order, and uses the duplicates.
func (t *paneTerminal) take(fds []uintptr) (err error) {
	var files []*os.File
	defer func() {
		if err != nil {
			closeAll(files)
		}
	}()
	for _, fd := range fds {
		n, err := unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, adoptFD)
		if err != nil {
			return err
		}
		files = append(files, os.NewFile(uintptr(n), "pane"))
	}
	conn, err := net.FileConn(files[0]) // of a copy
	if err != nil {
		return err
	}
	files[0].Close()
	c, ok := conn.(*net.UnixConn)
	if !ok {
		return errors.Join(fmt.Errorf("the launcher's connection is a %T", conn), conn.Close())
	}
	t.conn, t.pipe, t.tty = c, files[1], files[2]
	t.news = &hearer{conn: c, unread: t.Unread}
	return nil
}
