package ptyowner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"middleman/internal/private"
	"middleman/ptyowner/state"
	"middleman/terminal"
	"middleman/terminal/host"
)

// Name is the backend's name, as it is recorded with each session.
const Name = "pty-owner"

// Options says where a Backend keeps things.
type Options struct {
	// Data is the data directory. What is below it down to a session's state
	// directory must be this user's and not writable by others.
	Data string
	// Sessions is the directory of the state directories, below Data.
	Sessions string
	// Runtime holds the sockets whose path below Sessions would be too long.
	Runtime string
	// Executable returns the binary that runs as owner with the argument
	// "pty-owner"; nil means this very one.
	Executable func() (string, error)
	// Build names the binary's version in owner.json.
	Build string
	// Host gives the owners their terminals, one of those that Main is told;
	// nil is a PTY of the owner's own. Sessions of another host are another
	// Backend's.
	Host host.Provider
}

// Backend starts owners and finds them. It implements terminal.Backend and
// holds no state of sessions: any number of them, in any number of processes, may use the
// same directories.
type Backend struct {
	o      Options
	owners sync.WaitGroup // those that were started here
	waits  sync.Map       // of these, by session: a channel that is closed when its end is noted
}

// New returns a Backend. It does no I/O.
func New(o Options) *Backend {
	return &Backend{o: o}
}

// Wait returns when every owner that was started here has ended, which can be
// never. It is for tests.
func (b *Backend) Wait() { b.owners.Wait() }

var _ terminal.Backend = (*Backend)(nil)

// Name is "pty-owner", or the host's.
func (b *Backend) Name() string { return cmp.Or(b.hostName(), Name) }

// hostName is what is recorded of the host, "" for the PTY.
func (b *Backend) hostName() string {
	if b.o.Host == nil {
		return ""
	}
	return b.o.Host.Name()
}

// Usable returns nil wherever the system has PTYs and the host can start
// sessions.
func (b *Backend) Usable(ctx context.Context) error {
	if err := usable(); err != nil || b.o.Host == nil {
		return err
	}
	return b.o.Host.Usable(ctx)
}

// Reap has the host end what it runs of sessions that are gone; see
// host.Provider.
func (b *Backend) Reap(ctx context.Context, known func(id string) (bool, error)) ([]string, error) {
	if b.o.Host == nil {
		return nil, nil
	}
	return b.o.Host.Reap(ctx, known)
}

// Complaint is what the host said of settings that it went on without.
func (b *Backend) Complaint() string {
	if b.o.Host == nil {
		return ""
	}
	return b.o.Host.Complaint()
}

// List returns the ids of all state directories that are an owner's.
func (b *Backend) List(context.Context) ([]string, error) {
	entries, err := b.entries()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list sessions: %w", err)
	}
	var ids []string
	for _, entry := range entries {
		if terminal.CheckID(entry.Name()) != nil {
			continue
		}
		d := b.stateDir(entry.Name())
		if _, err := os.Lstat(d.File(state.StartLockFile)); err == nil {
			if d.HostName() == b.hostName() && !d.IsFormer() {
				ids = append(ids, entry.Name())
			}
		} else if !errors.Is(err, fs.ErrNotExist) {
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

// Session names a session.
func (b *Backend) Session(id string) terminal.Session {
	return &session{b: b, dir: b.stateDir(id)}
}

func (b *Backend) stateDir(id string) state.Dir {
	return state.Dir{ID: id, Path: filepath.Join(b.o.Sessions, id)}
}

// socketPath is in the state directory, or in the runtime directory where the
// path would pass the system's limit.
func (b *Backend) socketPath(d state.Dir) (string, error) {
	if path := d.File(state.SocketFile); len(path) <= private.MaxSocketPath {
		return path, nil
	}
	path := filepath.Join(b.o.Runtime, d.ID+".sock")
	if len(path) > private.MaxSocketPath {
		return "", fmt.Errorf("socket path %s has %d bytes, the system takes %d: set XDG_RUNTIME_DIR or MIDDLEMAN_HOME to a shorter path",
			path, len(path), private.MaxSocketPath)
	}
	return path, private.MakeDir(b.o.Runtime)
}
