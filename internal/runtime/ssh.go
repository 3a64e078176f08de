package runtime

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/yamux"
)

const (
	// maxSaid bounds what is kept of the errors that ssh prints.
	maxSaid = 4 << 10
	// sshEnd bounds how long ssh may take to end once its streams are closed.
	sshEnd = 2 * time.Second
)

// ssh runs one ssh program for all connections to a remote, and a new one when
// that has ended.
type ssh struct {
	program string
	args    []string

	mu       sync.Mutex // guards the fields below
	link     *sshLink   // nil before the first connection
	closed   bool
	starting chan struct{} // capacity 1: full while a link is being made
}

func newSSH(c Config, u *url.URL, program string) *ssh {
	command := c.Command
	if command == "" {
		command = "middleman"
	}
	return &ssh{program: program, args: sshArgs(u, Quote(command)+" connect"), starting: make(chan struct{}, 1)}
}

// SSHArgs returns the arguments with which ssh runs a line of the shell on the machine
// of an ssh address.
func SSHArgs(c Config, line string) ([]string, error) {
	u, err := c.url()
	if err != nil {
		return nil, err
	}
	return sshArgs(u, line), nil
}

// Quote returns text as one word of the shell.
func Quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

func sshArgs(u *url.URL, line string) []string {
	args := []string{
		"-T", "-a", "-x", "-e", "none", "-o", "BatchMode=yes", "-o", "ClearAllForwardings=yes", "-o", "ConnectTimeout=10",
		"-o", "ServerAliveInterval=15", "-o", "ServerAliveCountMax=3", "-o", "LogLevel=ERROR",
	}
	if u.User != nil {
		args = append(args, "-l", u.User.Username())
	}
	if u.Port() != "" {
		args = append(args, "-p", u.Port())
	}
	return append(args, "--", u.Hostname(), line)
}

// Origin implements Dialer.
func (d *ssh) Origin() string { return "http://localhost" }

// Token implements Dialer: at the other end the user is the server's own.
func (d *ssh) Token() (string, error) { return "", nil }

// Dial implements Dialer.
func (d *ssh) Dial(ctx context.Context) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	link, err := d.open(ctx)
	if err != nil {
		return nil, err
	}
	stream, err := link.mux.OpenStream()
	if err != nil {
		link.close()
		return nil, &Error{Reason: NoAnswer, Cause: err}
	}
	return stream, nil
}

// open returns the present link, or makes one. Several callers wait for the same.
func (d *ssh) open(ctx context.Context) (*sshLink, error) {
	select {
	case d.starting <- struct{}{}:
		defer func() { <-d.starting }()
	case <-ctx.Done():
		return nil, because(ctx.Err(), NoAnswer)
	}
	d.mu.Lock()
	old, closed := d.link, d.closed
	d.mu.Unlock()
	if closed {
		return nil, &Error{Reason: NoAnswer, Cause: errors.New("the runtime was removed")}
	}
	if old != nil && !old.mux.IsClosed() {
		return old, nil
	}
	if old != nil {
		old.close()
	}
	link, err := startSSH(ctx, d.program, d.args)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	d.link, closed = link, d.closed
	d.mu.Unlock()
	if closed {
		link.close()
		return nil, &Error{Reason: NoAnswer, Cause: errors.New("the runtime was removed")}
	}
	return link, nil
}

// Close implements Dialer.
func (d *ssh) Close() error {
	d.mu.Lock()
	d.closed = true
	link := d.link
	d.mu.Unlock()
	if link != nil {
		link.close()
	}
	return nil
}

// sshLink is one running ssh program with the connections through it.
type sshLink struct {
	mux   *yamux.Session
	pipes *sshPipes
}

func (l *sshLink) close() {
	l.mux.Close() // closes pipes
	l.pipes.Close()
}

// startSSH runs ssh and reads the greeting.
func startSSH(ctx context.Context, program string, args []string) (*sshLink, error) {
	p := &sshPipes{cmd: exec.Command(program, args...)}
	p.cmd.Stderr = &p.said
	p.cmd.WaitDelay = sshEnd
	var out io.Reader
	in, err := p.cmd.StdinPipe()
	if err == nil {
		p.in = in
		out, err = p.cmd.StdoutPipe()
	}
	if err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		return nil, &Error{Reason: NoSSH, Cause: err}
	}
	p.ended = make(chan struct{})
	p.out = bufio.NewReaderSize(out, maxNoise)
	stop := context.AfterFunc(ctx, func() { p.Close() })
	err = readGreeting(p.out)
	if !stop() {
		err = because(context.Cause(ctx), TimedOut)
	}
	if err == nil {
		var mux *yamux.Session
		ours := muxConfig()
		ours.AcceptBacklog = 1 // the other end has nothing to ask for
		if mux, err = yamux.Client(&whole{ReadWriteCloser: p}, ours); err == nil {
			return &sshLink{mux, p}, nil
		}
	}
	p.Close()
	return nil, p.explain(err)
}

// muxConfig is for both ends.
func muxConfig() *yamux.Config {
	c := yamux.DefaultConfig()
	c.KeepAliveInterval = 15 * time.Second
	c.ConnectionWriteTimeout = 20 * time.Second
	c.MaxStreamWindowSize = 1 << 20
	c.StreamCloseTimeout = 30 * time.Second
	c.LogOutput = io.Discard // every error shows at a stream too
	return c
}

// sshPipes are the standard streams of a running ssh.
type sshPipes struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
	said tail

	once  sync.Once
	ended chan struct{}
}

func (p *sshPipes) Read(b []byte) (int, error)  { return p.out.Read(b) }
func (p *sshPipes) Write(b []byte) (int, error) { return p.in.Write(b) }

// Close ends ssh, and returns when it has ended.
func (p *sshPipes) Close() error {
	p.once.Do(func() {
		p.in.Close()
		kill := time.AfterFunc(sshEnd/4, func() { p.cmd.Process.Kill() })
		p.cmd.Wait() // its status tells no more than what it has said
		kill.Stop()
		close(p.ended)
	})
	<-p.ended
	return nil
}

// explain returns the error for a link that did not come about, by what ssh has
// said. Call it after Close.
func (p *sshPipes) explain(err error) error {
	e := because(err, NoAnswer)
	if e.Reason != NoAnswer {
		return e
	}
	said := p.said.String()
	for _, known := range []struct {
		text   string
		reason Reason
	}{
		{"REMOTE HOST IDENTIFICATION HAS CHANGED", NewHostKey}, // what follows is said too
		{"Host key verification failed", BadHostKey},
		{"Permission denied", BadLogin},
		{"Too many authentication failures", BadLogin},
		{"not found", NotInstalled},
		{"No such file or directory", NotInstalled},
		{"unknown command", NotInstalled},
		{"middleman: ", ServerMissing},
	} {
		if strings.Contains(said, known.text) {
			return &Error{Reason: known.reason, Cause: fmt.Errorf("ssh said: %s", said)}
		}
	}
	return &Error{Reason: NoAnswer, Cause: fmt.Errorf("%w; ssh said: %s", e.Cause, said)}
}

// tail keeps the last maxSaid bytes that are written to it.
type tail struct {
	mu   sync.Mutex
	kept []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, p[max(0, len(p)-maxSaid):]...)
	t.kept = t.kept[max(0, len(t.kept)-maxSaid):]
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(bytes.TrimSpace(t.kept))
}
