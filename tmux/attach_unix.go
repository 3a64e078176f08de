//go:build unix

package tmux

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"middleman/terminal"
)

const (
	// attachTimeout bounds the wait for a client's first byte.
	attachTimeout = 10 * time.Second
	// clientGrace is how long a client may take to end once its terminal is
	// gone; after that it hangs, and is killed.
	clientGrace = 2 * time.Second
	readSize    = 64 << 10
)

// writer is who types at a session, as an option of its pane says it. It is
// true while tmux lists this client.
type writer struct {
	terminal.Writer
	TTY string `json:"tty"`
	PID int    `json:"pid"`
}

// Attach implements terminal.Session. A watcher that has an offset follows the
// journal, exactly; everybody else sees what tmux draws.
func (s *session) Attach(ctx context.Context, o terminal.AttachOptions) (terminal.Attachment, error) {
	rec, state, exit, err := s.present()
	if err != nil {
		return nil, err
	}
	switch {
	case exit != nil && o.From == nil:
		return s.attachEnded(rec, *exit, o)
	case exit == nil && state.Ended():
		return nil, fmt.Errorf("attach to session %s: it is %s: %w", s.id, state, terminal.ErrGone)
	case exit != nil || o.From != nil && o.Mode == terminal.ModeWatch:
		return s.follow(ctx, rec, *o.From)
	}
	a, err := s.attachClient(ctx, rec, o)
	if err == nil {
		return a, nil
	}
	// It may have ended while we joined.
	if exit, exitErr := s.dir.exit(); exitErr == nil && exit != nil {
		return s.attachEnded(rec, *exit, o)
	}
	return nil, err
}

// writerOption holds the writer on the session's pane, as JSON in hexadecimal:
// tmux's words have no rules then, and a full disk keeps nobody out.
const writerOption = "@middleman_writer"

func (w writer) encode() (string, error) {
	b, err := json.Marshal(w)
	return hex.EncodeToString(b), err
}

// claimed is the last that claimed to type, nil where nobody did.
func (p pane) claimed() *writer {
	var w writer
	b, err := hex.DecodeString(p.writer)
	if err != nil || json.Unmarshal(b, &w) != nil {
		return nil
	}
	return &w
}

// typist returns who types, nil when nobody does.
func (p pane) typist() *writer {
	w := p.claimed()
	if w == nil {
		return nil
	}
	for _, c := range p.clients {
		// tmux may list a client for a moment after its process has ended.
		if c.pid == w.PID && c.tty == w.TTY && !errors.Is(unix.Kill(c.pid, 0), unix.ESRCH) {
			return w
		}
	}
	return nil
}

// viewers returns the writer and how many others look.
func (p pane) viewers() (*terminal.Writer, int) {
	watchers := 0
	for _, c := range p.clients {
		if c.readOnly {
			watchers++
		}
	}
	w := p.typist()
	if w == nil {
		return nil, watchers
	}
	return &w.Writer, watchers
}

// attachClient runs a tmux client on a PTY of ours.
func (s *session) attachClient(ctx context.Context, rec record, o terminal.AttachOptions) (*attachment, error) {
	lock, err := s.lock(ctx, attachLock)
	if err != nil {
		return nil, err
	}
	defer lock.Close()
	srv := rec.server()
	s.revive(ctx, srv)
	p, err := s.pane(ctx, srv)
	if err != nil {
		return nil, err
	}
	before := p.typist()
	if o.Mode == terminal.ModeAttach && before != nil && !o.Takeover {
		return nil, &terminal.BusyError{Session: s.id, Writer: before.Writer}
	}
	l, err := s.launcher()
	if err != nil {
		return nil, err
	}
	a := &attachment{s: s, rec: rec, srv: srv, at: p.target, session: p.session, mode: o.Mode, buf: make([]byte, readSize)}
	a.hello = terminal.Hello{Size: p.size, Title: p.title, PID: l.Program, Clipboard: rec.Clipboard}
	if o.Mode == terminal.ModeAttach && o.Size.Cols > 0 && o.Size.Rows > 0 {
		if err := s.resize(ctx, rec, o.Size); err != nil {
			return nil, fmt.Errorf("resize session %s: %w", s.id, err)
		}
		a.hello.Size = o.Size
	}
	if o.Scrollback != 0 {
		if a.first, err = srv.scrollback(ctx, p.target, o.Scrollback); err != nil {
			return nil, fmt.Errorf("scrollback of session %s: %w", s.id, err)
		}
	}
	if err := a.start(ctx); err != nil {
		return nil, fmt.Errorf("attach to session %s: %w: %w", s.id, terminal.ErrUnreachable, err)
	}
	if o.Mode == terminal.ModeAttach {
		err = a.claim(ctx, o.Client, before)
	} else if before != nil {
		a.hello.Writer = &before.Writer
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("attach to session %s: %w", s.id, err), a.Close())
	}
	return a, nil
}

// claim records that a is the writer, then detaches the one before it, which
// so can tell that it was displaced.
func (a *attachment) claim(ctx context.Context, name string, before *writer) error {
	w := writer{
		Writer: terminal.Writer{Client: name, Since: time.Now()},
		TTY:    a.tty, PID: a.cmd.Process.Pid,
	}
	encoded, err := w.encode()
	if err == nil {
		err = a.srv.act(ctx, a.at, "set-option", "-p", "-t", a.at.pane, writerOption, encoded)
	}
	if err != nil {
		return err
	}
	a.hello.Writer = &w.Writer
	defer a.rec.tell(ctx, writerLine)
	if before == nil {
		return nil
	}
	_, err = a.srv.run(ctx, nil, "detach-client", "-t", before.TTY)
	if err != nil && strings.Contains(err.Error(), "can't find client") {
		return nil
	}
	return err
}

func (srv server) resize(ctx context.Context, t target, size terminal.Size) error {
	return srv.act(ctx, t, "resize-window", "-t", t.pane,
		"-x", strconv.Itoa(int(size.Cols)), "-y", strconv.Itoa(int(size.Rows)))
}

// scrollback returns up to that many lines (all where negative) from above the
// screen, followed by as many line feeds as move them there.
func (srv server) scrollback(ctx context.Context, at target, lines int) ([]byte, error) {
	t, err := srv.screen(ctx, at)
	if err != nil {
		return nil, err
	}
	_, rows := t.Size()
	all := strings.SplitAfter(t.ANSI(textWithScrollback), "\n")
	all = all[:max(0, len(all)-1-rows)]
	if lines > 0 && len(all) > lines {
		all = all[len(all)-lines:]
	}
	if len(all) == 0 {
		return nil, nil
	}
	text := strings.ReplaceAll(strings.Join(all, ""), "\n", "\r\n")
	return []byte(text + strings.Repeat("\r\n", rows)), nil
}

// attachment is a tmux client of ours.
type attachment struct {
	s       *session
	rec     record
	srv     server
	at      target
	session string // tmux's id of the session that the pane was in
	mode    terminal.Mode
	hello   terminal.Hello
	tty     string
	pty     *os.File
	cmd     *exec.Cmd
	gone    chan struct{} // closed when the client has been waited for

	// What follows belongs to the receiving goroutine.
	buf   []byte
	first []byte // read while joining
	sent  uint64
	last  []terminal.Message
	over  bool

	mu     sync.Mutex // guards closed
	closed bool
}

// start runs the client and waits for its first byte, so that tmux lists it
// when Attach returns.
func (a *attachment) start(ctx context.Context) error {
	master, slave, err := openPTY(a.hello.Size)
	if err != nil {
		return err
	}
	defer slave.Close()
	args := []string{"attach-session", "-E", "-t", a.session}
	if a.mode == terminal.ModeWatch {
		args = append(args, "-r")
	} else {
		// The user may have split the window, or gone to another one, by hand:
		// what is typed is for our pane.
		args = append([]string{"select-window", "-t", a.at.pane, ";", "select-pane", "-t", a.at.pane, ";",
			"select-pane", "-e", "-t", a.at.pane, ";"}, args...)
	}
	// The attachment outlives ctx, and ends its client by itself.
	a.cmd = a.srv.command(context.WithoutCancel(ctx), args...)
	a.cmd.Stdin, a.cmd.Stdout, a.cmd.Stderr = slave, slave, slave
	a.cmd.SysProcAttr = clientAttr()
	a.tty, a.pty, a.gone = slave.Name(), master, make(chan struct{})
	if err := a.cmd.Start(); err != nil {
		return errors.Join(err, master.Close())
	}
	go func() { // joined by Close, and by Receive at the end
		defer close(a.gone)
		// How it ended says nothing of the session; ending asks that.
		_ = a.cmd.Wait()
	}()
	stop := context.AfterFunc(ctx, func() { master.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	if err := master.SetReadDeadline(time.Now().Add(attachTimeout)); err != nil {
		return errors.Join(err, a.Close())
	}
	n, err := master.Read(a.buf)
	if err != nil {
		return errors.Join(fmt.Errorf("wait for the first output: %w", err), a.Close())
	}
	a.first = append(a.first, a.buf[:n]...)
	return master.SetReadDeadline(time.Time{})
}

// Hello implements terminal.Attachment.
func (a *attachment) Hello() terminal.Hello { return a.hello }

// Receive implements terminal.Attachment.
func (a *attachment) Receive() (terminal.Message, error) {
	if len(a.first) > 0 {
		p := a.first
		a.first = nil
		return a.output(p), nil
	}
	if !a.over {
		n, _ := a.pty.Read(a.buf)
		if n > 0 {
			return a.output(a.buf[:n]), nil
		}
		// The client's terminal is gone, for whatever reason: why, the
		// session's state says, not the error.
		a.over = true
		var err error
		if a.last, err = a.ending(); err != nil {
			return terminal.Message{}, err
		}
	}
	if len(a.last) == 0 {
		return terminal.Message{}, io.EOF
	}
	m := a.last[0]
	a.last = a.last[1:]
	return m, nil
}

func (a *attachment) output(p []byte) terminal.Message {
	m := terminal.Message{Kind: terminal.MessageOutput, Offset: a.sent, Data: p}
	a.sent += uint64(len(p))
	return m
}

// ending returns the last messages: the exit behind the last screen, or why
// the client was detached from a session that goes on.
func (a *attachment) ending() ([]terminal.Message, error) {
	a.endClient()
	if a.isClosed() {
		return nil, os.ErrClosed
	}
	_, state, exit, err := a.s.present()
	if err != nil {
		return nil, err
	}
	if exit != nil {
		return a.s.lastMessages(*exit, a.sent, -1)
	}
	if state.Ended() {
		return nil, fmt.Errorf("session %s is %s: %w", a.s.id, state, terminal.ErrGone)
	}
	p, err := a.s.pane(context.Background(), a.srv)
	if err != nil {
		return nil, fmt.Errorf("session %s: its tmux client ended: %w", a.s.id, terminal.ErrUnreachable)
	}
	reason := terminal.DetachPolicy
	w := p.claimed()
	if w != nil && w.TTY != a.tty && a.mode == terminal.ModeAttach {
		reason = terminal.DetachTakeover
	}
	detached := terminal.Message{Kind: terminal.MessageDetached, Offset: a.sent, Reason: reason}
	if reason != terminal.DetachTakeover {
		return []terminal.Message{detached}, nil
	}
	who := terminal.Event{Kind: terminal.EventWriter, Offset: a.sent, Writer: &w.Writer}
	return []terminal.Message{{Kind: terminal.MessageEvent, Event: who}, detached}, nil
}

// lastMessages draw the last screen and tell the exit.
func (s *session) lastMessages(exit terminal.Exit, offset uint64, scrollback int) ([]terminal.Message, error) {
	t, err := s.dir.lastScreen(exit)
	if err != nil {
		return nil, err
	}
	return []terminal.Message{
		{Kind: terminal.MessageSnapshot, Offset: offset, Data: snapshot(t, scrollback)},
		{Kind: terminal.MessageExit, Offset: offset, Exit: exit},
	}, nil
}

// Input implements terminal.Attachment.
func (a *attachment) Input(p []byte) error {
	if a.mode != terminal.ModeAttach {
		return terminal.ErrNotWriter
	}
	select {
	case <-a.gone: // its terminal would take the bytes all the same
		return a.refused("type at", os.ErrClosed)
	default:
	}
	if _, err := a.pty.Write(p); err != nil {
		return a.refused("type at", err)
	}
	return nil
}

// refused says why nothing can be done to the session any more.
func (a *attachment) refused(what string, err error) error {
	if _, state, _, stateErr := a.s.present(); stateErr == nil && state.Ended() {
		err = terminal.ErrEnded
	}
	return fmt.Errorf("%s session %s: %w", what, a.s.id, err)
}

// Resize implements terminal.Attachment.
func (a *attachment) Resize(size terminal.Size) error {
	if a.mode != terminal.ModeAttach {
		return terminal.ErrNotWriter
	}
	err := a.s.resize(context.Background(), a.rec, size)
	if err == nil {
		err = setSize(a.pty, size)
	}
	if err != nil {
		return a.refused("resize", err)
	}
	return nil
}

// Ack implements terminal.Attachment. tmux redraws for a slow client by
// itself, so there is nothing to do.
func (a *attachment) Ack(uint64) error { return nil }

// Close ends the client. The session does not notice.
func (a *attachment) Close() error {
	a.mu.Lock()
	closed := a.closed
	a.closed = true
	a.mu.Unlock()
	if closed {
		return nil
	}
	err := a.pty.Close()
	a.endClient()
	if a.mode == terminal.ModeAttach {
		a.rec.tell(context.Background(), writerLine)
	}
	return err
}

func (a *attachment) isClosed() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.closed
}

// endClient waits for the client, whose terminal is gone, and kills it where
// it hangs.
func (a *attachment) endClient() {
	timer := time.NewTimer(clientGrace)
	defer timer.Stop()
	select {
	case <-a.gone:
	case <-timer.C:
		_ = a.cmd.Process.Kill() // it may have ended just now
		<-a.gone
	}
}
