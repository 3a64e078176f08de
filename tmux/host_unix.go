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
	"middleman/internal/private"
	"middleman/terminal/host"
)

// Host is the host of sessions in panes of the private tmux server, in the
// owner process. The zero Host is ready.
type Host struct{}

var _ host.Host = Host{}

// Name implements host.Host.
func (Host) Name() string { return Name }

const (
	// startTimeout bounds a start, meetTime how long a pane's processes may take
	// to come, which is less.
	startTimeout = 15 * time.Second
	meetTime     = 10 * time.Second
	// endingTime is how long a server that is ending may be in the way of a new
	// session: one that has a client left still listens, and turns all others away.
	endingTime = 3 * time.Second
	// againAfter is how long after such a try the next one comes, and twice that
	// after each.
	againAfter = 5 * time.Millisecond
)

// Start implements host.Host: it makes a tmux session, whose pane runs the
// launcher, and has that start the program.
func (Host) Start(p host.Program) (host.Terminal, int, string, error) {
	var c hostConfig
	if err := json.Unmarshal(p.Config, &c); err != nil {
		return nil, 0, "read the host's settings", err
	}
	for _, kv := range c.Env {
		key, value, _ := strings.Cut(kv, "=")
		os.Setenv(key, value)
	}
	s := &starter{b: New(c.Options), p: p}
	t, err := s.start(context.Background())
	if err == nil {
		// From here on the session outlives its owner, and so it does before
		// anybody is told that it has started.
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
	pane string // once it is made
	step string // that is under way
	conn []*net.UnixConn
}

func (s *starter) start(ctx context.Context) (t *paneTerminal, err error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	s.step = "find tmux"
	if s.c, err = s.b.client(ctx); err != nil {
		return nil, &host.Fault{Err: err}
	}
	s.step = "listen for the pane"
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: s.p.Socket, Net: "unix"})
	if err != nil {
		return nil, err
	}
	defer ln.Close()
	s.step = "make the tmux session"
	if err := s.create(ctx); err != nil {
		return nil, &host.Fault{Err: s.b.suspect(err)}
	}
	s.step = "meet the pane"
	if t, err = s.meet(ctx, ln); err != nil {
		return nil, &host.Fault{Err: s.b.suspect(err)}
	}
	s.step = "start program"
	if err := s.launch(t); err != nil {
		return nil, fmt.Errorf("%s in %s: %w", s.p.Spec.Argv[0], s.p.Spec.Dir, err)
	}
	return t, t.open()
}

// undoTime is how long undoing a start may wait for tmux.
const undoTime = 2 * time.Second

// undo ends the pane of a start that did not come about, and the server if there
// is nothing else.
func (s *starter) undo() {
	for _, c := range s.conn {
		c.Close() // the launcher ends with it
	}
	ctx, cancel := context.WithTimeout(context.Background(), undoTime)
	defer cancel()
	if s.pane != "" {
		_, _ = s.c.run(ctx, "kill-pane", "-t", s.pane)
	}
	_, _ = s.c.run(ctx, "if-shell", "-F", alone, "kill-server") // or it has ended
}

// create makes the tmux session, then gives its pane the marks and the pipe, by
// its id: whatever the user's hooks did in between.
func (s *starter) create(ctx context.Context) (err error) {
	in := s.b.input(s.c)
	deadline := time.Now().Add(endingTime)
	for wait := againAfter; ; wait *= 2 {
		err = in.locked(ctx, func() error {
			revive(ctx, in.Sessions, s.c)
			if !s.c.listening() {
				if err := in.startClient(ctx, s.c, s.c.runFirst); err != nil {
					return err
				}
			}
			return s.makePane(ctx)
		})
		if err == nil {
			err = s.markPane(ctx)
		}
		if err == nil || !serverEnded(err) || time.Now().After(deadline) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(wait): // the server tells nobody that it has ended
		}
	}
}

// makePane makes the session. The launcher waits in its pane.
func (s *starter) makePane(ctx context.Context) error {
	exe, err := s.b.o.Executable()
	if err != nil {
		return err
	}
	conf, _ := s.b.userConf() // Complaint tells why not
	args := append(slices.Concat(readUserConf(conf), vital),
		"new-session", "-d", "-P", "-F", "#{pane_id}", "-s", s.p.Spec.ID, "-c", "/",
		"-x", strconv.Itoa(int(s.p.Size.Cols)), "-y", strconv.Itoa(int(s.p.Size.Rows)),
		"--", exe, CommandPane, s.p.Dir, s.p.Socket)
	out, err := s.c.run(ctx, args...)
	said, pane := cutPaneID(out)
	if s.pane = pane; pane == "" {
		// A server that ends may say nothing.
		return cmp.Or(err, fmt.Errorf("tmux has made no pane: %w: %q", errNoServer, out))
	}
	if said == "" && err != nil {
		said = err.Error() // a setting that tmux refused, without the place
	}
	if said != "" {
		s.b.complain(said)
	}
	return nil
}

// markPane marks the pane as ours and pipes it, and reads the marks back.
func (s *starter) markPane(ctx context.Context) error {
	exe, err := s.b.o.Executable()
	if err != nil {
		return err
	}
	id, mark := s.p.Spec.ID, s.p.Dir
	out, err := s.c.run(ctx,
		"set-option", "-t", s.pane, ownerOption, mark,
		";", "set-option", "-p", "-t", s.pane, ownerOption, mark,
		";", "set-option", "-p", "-t", s.pane, paneOption, id,
		";", "set-option", "-w", "-t", s.pane, "window-size", "manual",
		";", "set-option", "-p", "-t", s.pane, "remain-on-exit", "off",
		// A hook, or tmux 3.2 by a client of another session, may have given it
		// another size.
		";", "resize-window", "-t", s.pane, "-x", strconv.Itoa(int(s.p.Size.Cols)), "-y", strconv.Itoa(int(s.p.Size.Rows)),
		";", "select-pane", "-t", s.pane, "-T", "",
		";", "pipe-pane", "-O", "-t", s.pane, pipeCommand(exe, s.p.Socket),
		";", "show-options", "-v", "-t", s.pane, ownerOption,
		";", "show-options", "-p", "-v", "-t", s.pane, paneOption,
	)
	if err == nil && out != mark+"\n"+id+"\n" {
		err = fmt.Errorf("set the owner mark of %s: tmux has %q", id, out)
	}
	return err
}

// pipeCommand is what a pane is piped to: a process that passes its standard
// input to who listens at socket.
func pipeCommand(exe, socket string) string {
	return formatQuote("exec " + shellQuote(exe) + " " + CommandPipe + " " + shellQuote(socket))
}

// meet waits for the launcher and the pipe's helper.
func (s *starter) meet(ctx context.Context, ln *net.UnixListener) (*paneTerminal, error) {
	deadline := time.Now().Add(meetTime)
	ln.SetDeadline(deadline)
	t := &paneTerminal{paneState: paneState{Tmux: s.b.input(s.c), Mark: newMark(), PipeSocket: s.p.Socket}}
	for t.conn == nil || t.pipe == nil {
		conn, err := ln.AcceptUnix()
		if err != nil {
			return nil, err
		}
		if err := private.CheckPeer(conn); err != nil {
			conn.Close()
			return nil, err
		}
		s.conn = append(s.conn, conn)
		conn.SetDeadline(deadline)
		r := &hearer{conn: conn}
		var g greeting
		if err := r.next(&g); err != nil {
			return nil, err
		}
		file, err := r.file()
		if err != nil {
			return nil, err
		}
		switch {
		case g.Role == rolePane && g.Pane != s.pane:
			conn.Close() // that of a server which has ended
			file.Close()
		case g.Role == rolePane && t.conn == nil:
			t.conn, t.news, t.tty = conn, r, file
			t.Pane, t.Server, t.Launcher = g.Pane, g.Server, g.PID
		case g.Role == rolePipe && t.pipe == nil:
			t.pipe = file
			conn.Close() // it may end
		default:
			return nil, fmt.Errorf("a second %q of the pane", g.Role)
		}
	}
	return t, nil
}

// input is how to reach the control client of a server.
func (s *Server) input(c client) inputServer {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := inputServer{Tmux: c.tmux, Socket: c.socket, Runtime: s.o.Runtime, Sessions: s.o.Sessions, Paste: "-dr"}
	if s.version.has(pasteRaw) {
		i.Paste = "-drS"
	}
	return i
}

// newMark is a private OSC string, which terminals skip.
func newMark() []byte { return []byte("\x1b]7767;" + rand.Text()[:26] + "\a") }

// launch has the launcher start the program.
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

// Adopt implements host.Host: the launcher has started this process, and its
// descriptors are inherited.
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

// take opens connection, pipe and terminal once more.
func (t *paneTerminal) take(fds []uintptr) error {
	var files [3]*os.File
	for i, fd := range fds {
		n, err := unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, adoptFD)
		if err != nil {
			return err
		}
		files[i] = os.NewFile(uintptr(n), "pane")
	}
	defer files[0].Close()
	conn, err := net.FileConn(files[0])
	if err != nil {
		return err
	}
	c, ok := conn.(*net.UnixConn)
	if !ok {
		return fmt.Errorf("the launcher's connection is a %T", conn)
	}
	t.conn, t.pipe, t.tty = c, files[1], files[2]
	t.news = &hearer{conn: c, unread: t.Unread}
	return nil
}
