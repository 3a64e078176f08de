//go:build unix

package tmux

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"middleman/internal/ipc"
	"middleman/internal/private"
	"middleman/terminal"
	"middleman/terminal/host"
)

// Server is the private tmux server of an installation, for the processes that
// start sessions. It implements host.Provider. It keeps nothing in memory that
// is needed to find or use a session, so any number of Servers, in any number
// of processes, may use the same directories.
type Server struct {
	o Options

	mu sync.Mutex // guards tmux and version
	// tmux is the program whose version this is.
	tmux    program
	version version

	check selfCheck
}

var _ host.Provider = (*Server)(nil)

// program identifies a file by its path, size and time; an upgrade changes it.
type program struct {
	Path    string `json:"path"`
	Size    int64  `json:"size"`
	Changed int64  `json:"changed"` // nanoseconds since 1970
}

// New returns a Server; it does no I/O.
func New(o Options) *Server {
	if o.Executable == nil {
		o.Executable = executable
	}
	if o.HistoryLines == 0 {
		o.HistoryLines = DefaultHistoryLines
	}
	return &Server{o: o}
}

// Name implements host.Provider.
func (*Server) Name() string { return Name }

// Usable returns nil, or why no session can be started here: there is no tmux;
// it is older than 3.0 or fails the self-check; the socket's path is too long;
// or a server runs there that does not answer, or not to this tmux. It may
// start a tmux server of its own for the self-check.
func (s *Server) Usable(ctx context.Context) error {
	path, err := s.program(ctx)
	if err == nil {
		err = s.tried(ctx, path)
	}
	if err != nil {
		return err
	}
	c := client{tmux: path, socket: s.socket()}
	if !c.listening() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	_, err = c.run(ctx, "show-options", "-s", "exit-empty")
	if err == nil || errors.Is(err, errNoServer) || serverEnded(err) {
		return nil
	}
	return fmt.Errorf("the tmux server at %s: %w", c.socket, err)
}

// probeTimeout bounds a short question to a tmux program or server.
const probeTimeout = 3 * time.Second

// program returns the path of the tmux program, if the socket's path is short
// enough and the program's version is new enough.
func (s *Server) program(ctx context.Context) (string, error) {
	if n := len(s.socket()); n > ipc.MaxSocketPath {
		return "", fmt.Errorf("socket path %s has %d bytes, a socket's may have %d: use a shorter runtime directory",
			s.socket(), n, ipc.MaxSocketPath)
	}
	return s.find(ctx)
}

func (s *Server) socket() string { return filepath.Join(s.o.Runtime, SocketFile) }

// find returns the path of the tmux program. It searches each time, since tmux
// may be installed or removed. It asks each program for its version once.
func (s *Server) find(ctx context.Context) (string, error) {
	name := s.o.Tmux
	if name == "" {
		name = "tmux"
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("find tmux: %w", err)
	}
	info, err := os.Stat(path)
	if err != nil {
		return "", fmt.Errorf("find tmux: %w", err)
	}
	is := program{path, info.Size(), info.ModTime().UnixNano()}
	s.mu.Lock()
	defer s.mu.Unlock()
	if is != s.tmux {
		v, err := versionOf(ctx, path)
		if err != nil {
			return "", fmt.Errorf("read the version of %s: %w", path, err)
		}
		s.tmux, s.version = is, v
	}
	if !s.version.atLeast(oldest) {
		return "", fmt.Errorf("%s is version %v, %v or newer is needed", path, s.version, oldest)
	}
	return path, nil
}

// versionOf runs tmux -V. A program that fails it is broken.
func versionOf(ctx context.Context, path string) (version, error) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "-V")
	cmd.Env = environ()
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return version{}, fmt.Errorf("it does not answer in %v", probeTimeout)
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && len(exit.Stderr) > 0 {
		err = fmt.Errorf("%w: %s", err, strings.TrimSpace(string(exit.Stderr)))
	}
	if err != nil {
		return version{}, err
	}
	return parseVersion(string(out))
}

// client writes the configuration and returns a client that may start the
// private server.
func (s *Server) client(ctx context.Context) (client, error) {
	path, err := s.program(ctx)
	if err != nil {
		return client{}, err
	}
	if err := private.MakeDir(s.o.Runtime); err != nil {
		return client{}, err
	}
	c := client{tmux: path, socket: s.socket(), config: filepath.Join(s.o.Runtime, "tmux.conf")}
	text := config(s.o.HistoryLines, s.o.Config)
	if s.o.alive != "" {
		text += c.endWith(s.o.alive, s.o.Runtime)
	}
	if old, err := private.ReadFile(c.config); err == nil && string(old) == text {
		return c, nil
	}
	if err := private.Replace(c.config, []byte(text), private.ThisBoot); err != nil {
		return client{}, fmt.Errorf("write %s: %w", c.config, err)
	}
	return c, nil
}

// endWith returns configuration that makes the server end and remove dir when
// the last writer of the FIFO alive has closed it, or at once if that has
// happened already.
func (c client) endWith(alive, dir string) string {
	// To open the FIFO only for reading would wait for a writer, which may be
	// gone. A server that starts after the end has no socket for kill-server.
	// Then kill ends it by its process id, if it still takes the output of
	// echo.
	script := fmt.Sprintf("trap : TERM; (exec 3<>%[1]s 4<%[1]s 3>&-; read x <&4) 2>/dev/null; if ! %[2]s -S %[3]s kill-server; then (echo) && kill ",
		shellQuote(alive), shellQuote(c.tmux), shellQuote(c.socket))
	// A client that comes too late makes a socket while rm runs, and starts
	// another server, which finds no session and ends. So rm is repeated.
	remove := fmt.Sprintf("; fi; for i in 1 2 3 4 5 6 7 8 9; do /bin/rm -rf %[1]s 2>/dev/null; test -e %[1]s || break; sleep 0.3; done", shellQuote(dir))
	return "run-shell -b " + quote(formatQuote(script)+"#{pid}"+formatQuote(remove)) + "\n"
}

// ByHand returns a shell command that attaches to the session's pane by hand,
// or, for the id "", to the server. It returns terminal.ErrNotFound if the
// session has no pane here.
func (s *Server) ByHand(ctx context.Context, id string) (string, error) {
	path, err := s.find(ctx)
	if err != nil {
		return "", err
	}
	c := client{tmux: path, socket: s.socket()}
	command := "env -u TMUX " + shellWord(path) + " -S " + shellWord(c.socket) + " attach"
	if id == "" {
		return command, nil
	}
	list, err := c.marks(ctx)
	if err != nil {
		return "", err
	}
	for _, m := range list {
		if m.id == id && m.owner == s.mark(id) {
			return command + " -t " + shellWord(m.pane), nil
		}
	}
	return "", fmt.Errorf("session %s: tmux has no pane for it: %w", id, terminal.ErrNotFound)
}

// hostConfig is what a Server passes to the Host in an owner.
type hostConfig struct {
	Options Options `json:"options"`
	// Env is the environment that the tmux server gets from the starter's.
	Env []string `json:"env"`
	// Program is the tmux that the Server has asked for its version, which is Major.Minor.
	Program program `json:"program"`
	Major   int     `json:"major"`
	Minor   int     `json:"minor"`
}

// configFor returns what the owner of a session in the tmux at path needs.
func (s *Server) configFor(path string) hostConfig {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := hostConfig{Options: s.o, Env: environ(), Program: s.tmux, Major: s.version.major, Minor: s.version.minor}
	c.Options.Tmux = path
	return c
}

// server returns the Server of an owner. It asks tmux for its version only if the
// program has changed since: a process less on the way to each session.
func (c hostConfig) server() *Server {
	s := New(c.Options)
	s.tmux, s.version = c.Program, version{c.Major, c.Minor}
	return s
}

// Config implements host.Provider. It returns a hostConfig for the owner of a
// new session, or why no session can be started.
func (s *Server) Config(ctx context.Context) (json.RawMessage, error) {
	path, err := s.program(ctx)
	if err == nil {
		err = s.tried(ctx, path)
	}
	if err != nil {
		return nil, err
	}
	return json.Marshal(s.configFor(path))
}

// mark returns the owner mark of a session: the path of its state directory. It
// tells apart the sessions of two installations that share a socket.
func (s *Server) mark(id string) string { return filepath.Join(s.o.Sessions, id) }

// Reap ends the panes that carry our mark but whose sessions have no state
// directory any more and are not known to the caller. It returns the ids of
// those sessions. It never touches other panes. If tmux or known fails, it
// leaves the panes concerned.
func (s *Server) Reap(ctx context.Context, known func(id string) (bool, error)) ([]string, error) {
	path, err := s.find(ctx)
	if err != nil {
		return nil, err
	}
	c := client{tmux: path, socket: s.socket()}
	marks, err := c.marks(ctx)
	if err != nil {
		return nil, err
	}
	var reaped []string
	var failed error
	for _, m := range marks {
		if terminal.CheckID(m.id) != nil || m.owner != s.mark(m.id) {
			continue
		}
		if _, err := os.Lstat(m.owner); !errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if is, err := known(m.id); is || err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		// Only if it still carries the mark: another server uses its id again.
		if _, err := c.run(ctx, "if-shell", "-F", "-t", m.pane, "#{==:#{"+paneOption+"},"+m.id+"}", "kill-pane -t "+m.pane); err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		reaped = append(reaped, m.id)
	}
	return reaped, failed
}

// suspect adds the path of the user's tmux.conf to the error of a failed start:
// a setting or hook there may have ended the pane or the server.
func (s *Server) suspect(err error) error {
	conf, confErr := s.userConf()
	if confErr != nil || conf.path == "" {
		return err
	}
	return fmt.Errorf("%w (tmux has read your own settings in %s: try without them)", err, conf.path)
}
