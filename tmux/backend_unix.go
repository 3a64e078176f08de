//go:build unix

package tmux

import (
	"context"
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
)

// maxSocketPath is the longest path that fits sockaddr_un everywhere.
const maxSocketPath = 103

// Backend hosts sessions on a private tmux server. It keeps nothing in memory
// that is needed to find or drive a session, so any number of Backends, in
// any number of processes, may use the same directories.
type Backend struct {
	o     Options
	panes paneLister

	mu sync.Mutex // guards tmux and version
	// tmux is the program that version was read of.
	tmux    program
	version version
}

// program is a file as it was when it was looked at: an upgrade changes it.
type program struct {
	path    string
	size    int64
	changed time.Time
}

// New returns a Backend; it does no I/O.
func New(o Options) *Backend {
	if o.Executable == nil {
		o.Executable = executable
	}
	if o.HistoryLines == 0 {
		o.HistoryLines = DefaultHistoryLines
	}
	return &Backend{o: o}
}

// Name implements terminal.Backend.
func (b *Backend) Name() string { return Name }

// Capabilities implements terminal.Backend. A watcher resumes exactly, from
// the journal; the writer sees what tmux draws, so on the whole there is no
// exact resume. Sizes are noted when they are asked for, which is not at the
// very byte, so that an earlier screen may differ.
func (b *Backend) Capabilities() terminal.Capabilities {
	return terminal.Capabilities{ExactResume: false, Journal: true}
}

// Usable returns nil, or why no session can be started here: no tmux, one
// older than 3.0, a runtime directory whose path is too long, or a server that
// runs and does not answer, or not this tmux.
func (b *Backend) Usable(ctx context.Context) error {
	path, err := b.check(ctx)
	if err != nil {
		return err
	}
	srv := server{tmux: path, socket: b.socket()}
	if !srv.listening() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	_, err = srv.run(ctx, nil, "show-options", "-s", "exit-empty")
	if err == nil || errors.Is(err, errNoServer) || serverEnded(err) {
		return nil
	}
	return fmt.Errorf("the tmux server at %s: %w", srv.socket, err)
}

// probeTimeout is how long a server may take to say that it is there.
const probeTimeout = 3 * time.Second

// check is Usable without a word to the server; it returns the program.
func (b *Backend) check(ctx context.Context) (string, error) {
	if n := len(b.socket()); n > maxSocketPath {
		return "", fmt.Errorf("socket path %s has %d bytes, a socket's may have %d: use a shorter runtime directory",
			b.socket(), n, maxSocketPath)
	}
	return b.find(ctx)
}

func (b *Backend) socket() string { return filepath.Join(b.o.Runtime, "tmux.sock") }

// find returns the path of the tmux program. It looks each time, since tmux
// may come and go, and reads the version once for each program.
func (b *Backend) find(ctx context.Context) (string, error) {
	name := b.o.Tmux
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
	b.mu.Lock()
	defer b.mu.Unlock()
	if is != b.tmux {
		v, err := versionOf(ctx, path)
		if err != nil {
			return "", fmt.Errorf("read the version of %s: %w", path, err)
		}
		b.tmux, b.version = is, v
	}
	if !b.version.atLeast(oldest) {
		return "", fmt.Errorf("%s is version %v, %v or newer is needed", path, b.version, oldest)
	}
	return path, nil
}

// versionOf asks the program; one that cannot tell is broken.
func versionOf(ctx context.Context, path string) (version, error) {
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "-V")
	cmd.Env = environ()
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && len(exit.Stderr) > 0 {
		err = fmt.Errorf("%w: %s", err, strings.TrimSpace(string(exit.Stderr)))
	}
	if err != nil {
		return version{}, err
	}
	return parseVersion(string(out))
}

// server returns how to start and reach the private server, with its
// configuration written.
func (b *Backend) server(ctx context.Context) (server, error) {
	path, err := b.check(ctx)
	if err != nil {
		return server{}, err
	}
	if err := private.MakeDir(b.o.Runtime); err != nil {
		return server{}, err
	}
	s := server{tmux: path, socket: b.socket(), config: filepath.Join(b.o.Runtime, "tmux.conf")}
	text := config(b.o.HistoryLines, b.userConf())
	if old, err := private.ReadFile(s.config); err == nil && string(old) == text {
		return s, nil
	}
	if err := private.Replace(s.config, []byte(text), private.ThisBoot); err != nil {
		return server{}, fmt.Errorf("write %s: %w", s.config, err)
	}
	return s, nil
}

// List returns the sessions that have a state directory of this backend. It
// asks the disk alone, so a tmux server that does not answer hides nothing.
func (b *Backend) List(ctx context.Context) ([]string, error) {
	entries, err := b.entries()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list sessions: %w", err)
	}
	var ids []string
	for _, e := range entries {
		if terminal.CheckID(e.Name()) != nil {
			continue
		}
		_, err := os.Lstat(filepath.Join(b.o.Sessions, e.Name(), recordFile))
		switch {
		case err == nil:
			ids = append(ids, e.Name())
		case !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission):
			return nil, fmt.Errorf("list sessions: %w", err)
		}
	}
	return ids, nil
}

// entries are what is in the directory of the state directories, if that is
// ours.
func (b *Backend) entries() ([]fs.DirEntry, error) {
	if err := private.Dir(b.o.Sessions); err != nil {
		return nil, err
	}
	return os.ReadDir(b.o.Sessions)
}

// Session implements terminal.Backend.
func (b *Backend) Session(id string) terminal.Session { return b.session(id) }

// session is the session of that id. What is no id has no directory: it could
// lead out of that of the sessions.
func (b *Backend) session(id string) *session {
	s := &session{id: id, mark: b.mark(id), panes: &b.panes}
	if terminal.CheckID(id) == nil {
		s.dir = stateDir(filepath.Join(b.o.Sessions, id))
	}
	return s
}

// mark is the owner mark of a session: its state directory, so that two
// installations that share a socket tell their sessions apart.
func (b *Backend) mark(id string) string { return filepath.Join(b.o.Sessions, id) }

// Reap ends the panes that carry our mark, whose sessions have no state
// directory any more and are not known to the caller either, and returns the
// ids of these. Others
// are never touched; where tmux or the caller cannot tell, nothing is.
func (b *Backend) Reap(ctx context.Context, known func(id string) (bool, error)) ([]string, error) {
	path, err := b.find(ctx)
	if err != nil {
		return nil, err
	}
	s := server{tmux: path, socket: b.socket()}
	marks, err := s.marks(ctx)
	if err != nil {
		return nil, err
	}
	var reaped []string
	var failed error
	for _, m := range marks {
		if terminal.CheckID(m.id) != nil || m.owner != b.mark(m.id) {
			continue
		}
		if _, err := os.Lstat(m.owner); !errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if is, err := known(m.id); is || err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		if err := s.kill(ctx, m.target); err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		reaped = append(reaped, m.id)
	}
	return reaped, failed
}
