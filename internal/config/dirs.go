// Package config knows where middleman keeps things and what the user set.
package config

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/adrg/xdg"
)

// Dirs are the directories that middleman uses. None is made by looking.
type Dirs struct {
	// Data holds sessions, workspaces and the database.
	Data string
	// Config holds config.toml, the user's.
	Config string
	// Runtime holds sockets and serve.json.
	Runtime string
}

// FindDirs returns the directories under $MIDDLEMAN_HOME where that is set,
// else those of the XDG Base Directory Specification. $MIDDLEMAN_HOME must be
// absolute.
func FindDirs() (Dirs, error) {
	if home := os.Getenv("MIDDLEMAN_HOME"); home != "" {
		if !filepath.IsAbs(home) {
			return Dirs{}, fmt.Errorf("MIDDLEMAN_HOME is %q: it must be an absolute path", home)
		}
		home = filepath.Clean(home)
		return Dirs{
			Data:    filepath.Join(home, "data"),
			Config:  filepath.Join(home, "config"),
			Runtime: filepath.Join(home, "run"),
		}, nil
	}
	if _, err := os.UserHomeDir(); err != nil && (os.Getenv("XDG_DATA_HOME") == "" || os.Getenv("XDG_CONFIG_HOME") == "") {
		return Dirs{}, fmt.Errorf("find a place for data: %w: set it, or MIDDLEMAN_HOME to a directory", err)
	}
	d := Dirs{
		Data:   filepath.Join(xdg.DataHome, "middleman"),
		Config: filepath.Join(xdg.ConfigHome, "middleman"),
	}
	d.Runtime = filepath.Join(d.Data, "run")
	if os.Getenv("XDG_RUNTIME_DIR") != "" {
		d.Runtime = filepath.Join(xdg.RuntimeDir, "middleman")
	}
	return d, nil
}

// Sessions is where each session has its state directory.
func (d Dirs) Sessions() string { return filepath.Join(d.Data, "sessions") }

// Workspaces is where worktrees and directories of ours are made.
func (d Dirs) Workspaces() string { return filepath.Join(d.Data, "workspaces") }

// Leases is where each ephemeral workspace has the lock of its program.
func (d Dirs) Leases() string { return filepath.Join(d.Data, "leases") }

// Workers is where it is recorded what became of each worker.
func (d Dirs) Workers() string { return filepath.Join(d.Data, "workers") }

// SetupLog is what setup, or teardown, of a workspace has printed.
func (d Dirs) SetupLog(workspaceID string) string {
	return filepath.Join(d.Data, "setup", workspaceID+".log")
}

// TLS is where the local certificate authority is.
func (d Dirs) TLS() string { return filepath.Join(d.Data, "tls") }

// Database is the SQLite file.
func (d Dirs) Database() string { return filepath.Join(d.Data, "middleman.db") }

// Statuses is where a server leaves how workspaces stood.
func (d Dirs) Statuses() string { return filepath.Join(d.Data, "statuses.json") }

// ServeFile says how to reach the running server.
func (d Dirs) ServeFile() string { return filepath.Join(d.Runtime, "serve.json") }

// ServerSocket is the server's Unix socket.
func (d Dirs) ServerSocket() string { return filepath.Join(d.Runtime, "middleman.sock") }

// PortSocket is where the holder of the server's port listens.
func (d Dirs) PortSocket() string { return filepath.Join(d.Runtime, "port.sock") }

// ServerLog is what a server in the background prints.
func (d Dirs) ServerLog() string { return filepath.Join(d.Data, "server.log") }

// InstanceFile is what one server leaves for the next: who it is to browsers,
// where it listened, and what it encrypted with.
func (d Dirs) InstanceFile() string { return filepath.Join(d.Data, "instance.json") }

// ServerLock is the flock that one server holds for its whole life.
func (d Dirs) ServerLock() string { return filepath.Join(d.Data, "server.lock") }

// File is the user's configuration.
func (d Dirs) File() string { return filepath.Join(d.Config, "config.toml") }

// TmuxFile is what the user has the private tmux server read.
func (d Dirs) TmuxFile() string { return filepath.Join(d.Config, "tmux.conf") }
