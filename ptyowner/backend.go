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

	"middleman/internal/ipc"
	"middleman/internal/private"
	"middleman/ptyowner/state"
	"middleman/terminal"
	"middleman/terminal/host"
)

// Name is the backend's name, as it is recorded with each session.
const Name = "pty-owner"

// Options tells a Backend which directories, owner binary and host to use.
type Options struct {
	// Data is the data directory. Data, and each directory from there down to
	// a session's state directory, must belong to this user and must not be
	// writable by others.
	Data string
	// Sessions is the directory that holds the state directories, below Data.
	Sessions string
	// Runtime is the directory for each socket whose path below Sessions would
	// be longer than the system allows.
	Runtime string
	// Executable returns the path of the binary that runs as owner, with the
	// argument "pty-owner". nil means the binary of this process.
	Executable func() (string, error)
	// Build is the version of the binary, as written to owner.json.
	Build string
	// Host gives the owners their terminals. It must be one of the hosts that
	// the owner's Main knows. nil means a PTY that the owner opens itself. A
	// Backend does not list the sessions of other hosts.
	Host host.Provider
}

// Backend starts owners and finds them. It implements terminal.Backend. It
// keeps no state of sessions in memory: any number of Backends, in any number
// of processes, may use the same directories.
type Backend struct {
	o      Options
	owners sync.WaitGroup // the owners that this Backend started
	// waits maps the session id of each such owner to a channel, which closes
	// once the owner's end is noted.
	waits sync.Map
}

// New returns a Backend. It does no I/O.
func New(o Options) *Backend {
	return &Backend{o: o}
}

// Wait blocks until every owner that this Backend started has ended, which may
// never happen. It is for tests.
func (b *Backend) Wait() { b.owners.Wait() }

var _ terminal.Backend = (*Backend)(nil)

// Name returns the host's name, or "pty-owner" for the PTY.
func (b *Backend) Name() string { return cmp.Or(b.hostName(), Name) }

// hostName returns the host's name as state records it, "" for the PTY.
func (b *Backend) hostName() string {
	if b.o.Host == nil {
		return ""
	}
	return b.o.Host.Name()
}

// Usable returns nil if the system has PTYs and the host can start sessions,
// and otherwise the reason.
func (b *Backend) Usable(ctx context.Context) error {
	if err := usable(); err != nil || b.o.Host == nil {
		return err
	}
	return b.o.Host.Usable(ctx)
}

// Reap lets the host end the processes of sessions that are gone; see
// host.Provider.
func (b *Backend) Reap(ctx context.Context, known func(id string) (bool, error)) ([]string, error) {
	if b.o.Host == nil {
		return nil, nil
	}
	return b.o.Host.Reap(ctx, known)
}

// Complaint returns the host's message about user settings that it ignored; see
// host.Provider.
func (b *Backend) Complaint() string {
	if b.o.Host == nil {
		return ""
	}
	return b.o.Host.Complaint()
}

// List returns the ids of the sessions that have a state directory and were
// started with this Backend's host, ended sessions too.
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

// entries lists the directory that holds the state directories, after it
// checked that the directory is this user's.
func (b *Backend) entries() ([]fs.DirEntry, error) {
	if err := private.Dir(b.o.Sessions); err != nil {
		return nil, err
	}
	return os.ReadDir(b.o.Sessions)
}

// Session returns the session with that id. It does no I/O.
func (b *Backend) Session(id string) terminal.Session {
	return &session{b: b, dir: b.stateDir(id)}
}

func (b *Backend) stateDir(id string) state.Dir {
	return state.Dir{ID: id, Path: filepath.Join(b.o.Sessions, id)}
}

// socketPath returns a path in the state directory, or in the runtime directory
// if the former is longer than the system allows.
func (b *Backend) socketPath(d state.Dir) (string, error) {
	if path := d.File(state.SocketFile); len(path) <= ipc.MaxSocketPath {
		return path, nil
	}
	path := filepath.Join(b.o.Runtime, d.ID+".sock")
	if len(path) > ipc.MaxSocketPath {
		return "", fmt.Errorf("socket path %s has %d bytes, but the system allows only %d: set XDG_RUNTIME_DIR or MIDDLEMAN_HOME to a shorter path",
			path, len(path), ipc.MaxSocketPath)
	}
	return path, private.MakeDir(b.o.Runtime)
}
