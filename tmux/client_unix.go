//go:build unix

package tmux

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"middleman/internal/systemd"
	"middleman/terminal/host"
)

const (
	// commandTimeout bounds one tmux call: a server that is stopped or stuck
	// is unreachable, not dead.
	commandTimeout = 10 * time.Second
	// ownerOption carries our mark on each session of ours, and on its pane.
	ownerOption = "@middleman_owner"
)

// errNoServer: nobody listens at the socket, as the kernel says.
var errNoServer = errors.New("no tmux server is running")

// client is how to talk to one tmux server.
type client struct {
	tmux   string // the program
	socket string
	config string // read when the server is started; "" for clients only
}

// environ is the whole environment of the tmux server and its clients. What
// the server gets shows in `show-environment -g`, so nothing else may be here.
func environ() []string {
	env := []string{"LC_ALL=C.UTF-8", "TERM=xterm-256color"}
	for _, key := range []string{"HOME", "USER", "LOGNAME", "SHELL", "PATH", "TZ"} {
		if v, ok := os.LookupEnv(key); ok {
			env = append(env, key+"="+v)
		}
	}
	return env
}

// command returns the tmux client with args, which are passed as they are but
// for a trailing ";" (tmux would take it for a separator).
func (c client) command(ctx context.Context, args ...string) *exec.Cmd {
	argv := []string{"-u", "-S", c.socket}
	if c.config != "" {
		argv = append(argv, "-f", c.config)
	}
	cmd := exec.CommandContext(ctx, c.tmux, append(argv, args...)...)
	cmd.Env = environ()
	cmd.Dir = "/" // a server keeps the directory of the client that starts it
	cmd.WaitDelay = time.Second
	return cmd
}

// run executes one command sequence and returns what it printed. Errors are
// errNoServer, or what tmux said.
func (c client) run(ctx context.Context, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	cmd := c.command(ctx, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	return stdout.String(), c.explain(ctx, args[0], stderr.String(), err)
}

// runFirst is run for a sequence that may start the server. That one blocks no
// signal that this process does, or kill-server, which is SIGTERM, would not end
// it; and it is in a scope of its own where this process runs in a systemd
// service. A client that finds the server running leaves its scope empty, which
// is the end of it.
func (c client) runFirst(ctx context.Context, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	var stdout, stderr bytes.Buffer
	var cmd *exec.Cmd
	var outside, err error
	host.AsFromLogin(func() {
		cmd, outside, err = systemd.Start(ctx, scopeName(), func() *exec.Cmd {
			stderr.Reset()
			cmd := c.command(ctx, args...)
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			return cmd
		})
	}, func(e error) { slog.Warn("start tmux", "err", e) })
	if outside != nil {
		slog.Warn("tmux sessions end with the server's unit", "err", outside)
	}
	if err == nil {
		err = cmd.Wait()
	}
	return stdout.String(), c.explain(ctx, args[0], stderr.String(), err)
}

// scopeName is a new one each time, since what an earlier server has left may
// keep its scope.
func scopeName() string {
	var unique [8]byte
	rand.Read(unique[:]) // never fails, see crypto/rand
	return "middleman-tmux-" + hex.EncodeToString(unique[:]) + ".scope"
}

// errHung: the server was not done in time. It is a context.DeadlineExceeded.
type errHung struct{}

func (errHung) Error() string { return "tmux does not answer: its server is stopped, or very busy" }

// Is makes it the error that the context has.
func (errHung) Is(target error) bool { return target == context.DeadlineExceeded }

// explain turns how a client ended into what run returns.
func (c client) explain(ctx context.Context, command, said string, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return errHung{}
	}
	if ctx.Err() != nil {
		return fmt.Errorf("tmux %s: %w", command, ctx.Err())
	}
	said = strings.TrimSpace(said)
	switch gone := !c.listening(); {
	case gone && (said == "" || strings.Contains(said, c.socket)): // which says that nobody listens there
		return fmt.Errorf("tmux %s: %w", command, errNoServer)
	case gone:
		return fmt.Errorf("tmux %s: %w: %s", command, errNoServer, said)
	case said != "":
		err = errors.New(said)
	}
	return fmt.Errorf("tmux %s: %w", command, err)
}

// listening reports false only where the kernel says that nobody listens at
// the socket: it is missing, or refuses the connection.
func (c client) listening() bool {
	conn, err := net.DialTimeout("unix", c.socket, time.Second)
	if err == nil {
		conn.Close()
		return true
	}
	return !errors.Is(err, syscall.ENOENT) && !errors.Is(err, syscall.ECONNREFUSED)
}

// serverEnded reports whether err says that the server went away under the
// client, which is what one that is just ending looks like.
func serverEnded(err error) bool {
	if errors.Is(err, errNoServer) {
		return true
	}
	for _, said := range []string{"server exited", "lost server", "no server running"} {
		if strings.Contains(err.Error(), said) {
			return true
		}
	}
	return false
}
