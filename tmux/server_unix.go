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

	"middleman/internal/private"
	"middleman/terminal"
	"middleman/terminal/host"
)

// Server is the private tmux server of an installation, as who starts sessions
// there sees it. It keeps nothing in memory that is needed to find or drive a
// session, so any number of Servers, in any number of processes, may use the
// same directories.
type Server struct {
	o Options

	mu sync.Mutex // guards tmux and version
	// tmux is the program that version was read of.
	tmux    program
	version version

	check selfCheck
}

var _ host.Provider = (*Server)(nil)

// program is a file as it was when it was looked at: an upgrade changes it.
type program struct {
	path    string
	size    int64
	changed time.Time
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

// Usable returns nil, or why no session can be started here: no tmux, one
// older than 3.0 or that does not do what it must, a runtime directory whose
// path is too long, or a server that runs and does not answer, or not this tmux.
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

// probeTimeout is how long a server may take to say that it is there.
const probeTimeout = 3 * time.Second

// program is Usable without a word to the server; it returns the program.
func (s *Server) program(ctx context.Context) (string, error) {
	if n := len(s.socket()); n > private.MaxSocketPath {
		return "", fmt.Errorf("socket path %s has %d bytes, a socket's may have %d: use a shorter runtime directory",
			s.socket(), n, private.MaxSocketPath)
	}
	return s.find(ctx)
}

func (s *Server) socket() string { return filepath.Join(s.o.Runtime, SocketFile) }

// find returns the path of the tmux program. It looks each time, since tmux
// may come and go, and reads the version once for each program.
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
	is := program{path, info.Size(), info.ModTime()}
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

// versionOf asks the program; one that cannot tell is broken.
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

// client returns how to start and reach the private server, with its
// configuration written.
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

// endWith is the configuration of a server that ends when the last writer of the
// FIFO alive does, or where that is gone already, and then removes dir.
func (c client) endWith(alive, dir string) string {
	// To open it for reading alone waits for a writer, which may be gone. A
	// server that starts when all is over has no socket to be reached at: it is
	// ended by its pid, as long as it hears what is printed here.
	script := fmt.Sprintf("trap : TERM; (exec 3<>%[1]s 4<%[1]s 3>&-; read x <&4) 2>/dev/null; if ! %[2]s -S %[3]s kill-server; then (echo) && kill ",
		shellQuote(alive), shellQuote(c.tmux), shellQuote(c.socket))
	// A client that comes too late makes a socket while the directory goes, and
	// another server, which finds no session and ends.
	remove := fmt.Sprintf("; fi; for i in 1 2 3 4 5 6 7 8 9; do /bin/rm -rf %[1]s 2>/dev/null; test -e %[1]s || break; sleep 0.3; done", shellQuote(dir))
	return "run-shell -b " + quote(formatQuote(script)+"#{pid}"+formatQuote(remove)) + "\n"
}

// ByHand returns the command, for a shell, that attaches to a session's pane by
// hand; for the id "" to all of them. One that has no pane here is an error.
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
	return "", fmt.Errorf("session %s: tmux has no pane of it: %w", id, terminal.ErrNotFound)
}

// hostConfig is what the Host in an owner knows of its server.
type hostConfig struct {
	Options Options `json:"options"`
	// Env is what the tmux server gets of its starter's environment.
	Env []string `json:"env"`
}

// Config implements host.Provider: what the owner of a session is told that is
// started with these options, or why none can be.
func (s *Server) Config(ctx context.Context) (json.RawMessage, error) {
	path, err := s.program(ctx)
	if err == nil {
		err = s.tried(ctx, path)
	}
	if err != nil {
		return nil, err
	}
	o := s.o
	o.Tmux = path
	return json.Marshal(hostConfig{Options: o, Env: environ()})
}

// mark is the owner mark of a session: its state directory, so that two
// installations that share a socket tell their sessions apart.
func (s *Server) mark(id string) string { return filepath.Join(s.o.Sessions, id) }

// Reap ends the panes that carry our mark, whose sessions have no state
// directory any more and are not known to the caller either, and returns the
// ids of these. Others are never touched; where tmux or the caller cannot tell,
// nothing is.
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
		if _, err := c.run(ctx, "kill-pane", "-t", m.pane); err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		reaped = append(reaped, m.id)
	}
	return reaped, failed
}

// suspect names the user's tmux.conf where a start failed: a setting or a hook of
// theirs may have ended the pane, or its server.
func (s *Server) suspect(err error) error {
	conf, confErr := s.userConf()
	if confErr != nil || conf.path == "" {
		return err
	}
	return fmt.Errorf("%w (tmux has read your own settings in %s: try without them)", err, conf.path)
}
