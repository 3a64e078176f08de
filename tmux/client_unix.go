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
	// commandTimeout bounds one tmux call. A server that takes longer is
	// stopped or stuck: it is unreachable, not dead.
	commandTimeout = 10 * time.Second
	// ownerOption is the tmux option that holds our mark (see Server.mark), on
	// each of our sessions and on its pane.
	ownerOption = "@middleman_owner"
)

// errNoServer means that nothing listens at the socket, as the kernel reports.
var errNoServer = errors.New("no tmux server is running")

// client runs commands on one tmux server.
type client struct {
	tmux   string // the path of the tmux program
	socket string
	config string // the configuration for a server that it starts; "" if it must not start one
}

// environ returns the whole environment of the tmux server and its clients. The
// server shows it in `show-environment -g`, so it must hold nothing else.
func environ() []string {
	env := []string{"LC_ALL=C.UTF-8", "TERM=xterm-256color"}
	for _, key := range []string{"HOME", "USER", "LOGNAME", "SHELL", "PATH", "TZ"} {
		if v, ok := os.LookupEnv(key); ok {
			env = append(env, key+"="+v)
		}
	}
	return env
}

// command returns a tmux client command with args. tmux gets them unchanged,
// except that it takes a ";" at the end of an argument as a separator.
func (c client) command(ctx context.Context, args ...string) *exec.Cmd {
	argv := []string{"-u", "-S", c.socket}
	if c.config != "" {
		argv = append(argv, "-f", c.config)
	}
	cmd := exec.CommandContext(ctx, c.tmux, append(argv, args...)...)
	cmd.Env = environ()
	cmd.Dir = "/" // a server keeps the working directory of the client that starts it
	cmd.WaitDelay = time.Second
	return cmd
}

// run runs one command sequence and returns its standard output. On failure the
// error is errNoServer, errHung, that of ctx, or what tmux printed.
func (c client) run(ctx context.Context, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	cmd := c.command(ctx, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	return stdout.String(), c.explain(ctx, args[0], stderr.String(), err)
}

// runFirst is run for a sequence that may start the server. A server that it
// starts inherits no blocked signals, because kill-server must be able to end
// it with SIGTERM. If this process runs in a systemd service, the server gets a
// scope of its own. If the server runs already, the scope only holds the
// client, and ends with it.
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

// scopeName returns a new name each time, since processes left by an earlier
// server may keep its scope.
func scopeName() string {
	var unique [8]byte
	rand.Read(unique[:]) // never fails, see crypto/rand
	return "middleman-tmux-" + hex.EncodeToString(unique[:]) + ".scope"
}

// errHung means that the server did not answer in time. errors.Is finds it to
// be context.DeadlineExceeded.
type errHung struct{}

func (errHung) Error() string { return "tmux does not answer: its server is stopped, or very busy" }

// Is reports true for the error that an expired context has.
func (errHung) Is(target error) bool { return target == context.DeadlineExceeded }

// explain converts the way in which a tmux client ended to the error of run.
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
	case gone && (said == "" || strings.Contains(said, c.socket)): // tmux says the same
		return fmt.Errorf("tmux %s: %w", command, errNoServer)
	case gone:
		return fmt.Errorf("tmux %s: %w: %s", command, errNoServer, said)
	case said != "":
		err = errors.New(said)
	}
	return fmt.Errorf("tmux %s: %w", command, err)
}

// listening returns false only if the kernel reports that nothing listens at
// the socket: it is missing, or refuses the connection.
func (c client) listening() bool {
	conn, err := net.DialTimeout("unix", c.socket, time.Second)
	if err == nil {
		conn.Close()
		return true
	}
	return !errors.Is(err, syscall.ENOENT) && !errors.Is(err, syscall.ECONNREFUSED)
}

// serverEnded reports whether err means that the server ended while the client
// used it, as happens with a server that is about to end.
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
