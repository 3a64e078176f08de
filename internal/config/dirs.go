// Package config knows the directories of middleman and the user's settings.
package config

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/adrg/xdg"
)

// Dirs are the directories that middleman uses. FindDirs makes none of them.
type Dirs struct {
	// Data holds sessions, workspaces and the database.
	Data string
	// Config holds config.toml and tmux.conf, which the user writes.
	Config string
	// Runtime holds serve.json, and the sockets (see Sockets).
	Runtime string
}

// FindDirs returns the directories under $MIDDLEMAN_HOME if that is set, else
// those of the XDG Base Directory Specification. $MIDDLEMAN_HOME must be
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
		return Dirs{}, fmt.Errorf("find a directory for data: %w: set it, or set MIDDLEMAN_HOME to a directory", err)
	}
	d := Dirs{
		Data:   filepath.Join(xdg.DataHome, "middleman"),
		Config: filepath.Join(xdg.ConfigHome, "middleman"),
	}
	// xdg leaves a relative $HOME out.
	if home := os.Getenv("HOME"); home != "" && !filepath.IsAbs(home) && !(filepath.IsAbs(d.Data) && filepath.IsAbs(d.Config)) {
		return Dirs{}, fmt.Errorf("HOME is %q: it must be an absolute path, or set MIDDLEMAN_HOME to a directory", home)
	}
	d.Runtime = filepath.Join(d.Data, "run")
	if os.Getenv("XDG_RUNTIME_DIR") != "" {
		d.Runtime = filepath.Join(xdg.RuntimeDir, "middleman")
	}
	return d, nil
}

// Sessions returns the directory that holds each session's state directory.
func (d Dirs) Sessions() string { return filepath.Join(d.Data, "sessions") }

// Workspaces returns the directory in which worktrees and our other workspace
// directories are made.
func (d Dirs) Workspaces() string { return filepath.Join(d.Data, "workspaces") }

// Leases returns the directory of the lock files of ephemeral workspaces.
func (d Dirs) Leases() string { return filepath.Join(d.Data, "leases") }

// Hooks returns the directory of the files that a session's program reads for its
// hooks. Hooks("") holds those of all sessions.
func (d Dirs) Hooks(session string) string { return filepath.Join(d.Data, "hooks", session) }

// Sandbox returns the directory of what is kept for the sandbox of one session: its
// policy and its temporary files. Sandbox("") holds those of all sessions.
func (d Dirs) Sandbox(session string) string { return filepath.Join(d.Data, "sandbox", session) }

// Denials returns the file with what the network list of a session denied, see
// egress.ReadDenials.
func (d Dirs) Denials(session string) string { return filepath.Join(d.Sandbox(session), "denials") }

// Secrets returns the file with the secrets of a sandboxed session, which the proxy of
// its network list takes and removes.
func (d Dirs) Secrets(session string) string {
	return filepath.Join(d.Sandbox(session), "secrets.json")
}

// Authority returns the file with the authorities that its programs trust.
func (d Dirs) Authority(session string) string { return filepath.Join(d.Sandbox(session), "ca.pem") }

// Private returns the directory of what the sandboxed sessions of a workspace keep:
// caches, and copies of the directories of agents. Private("") holds those of all.
func (d Dirs) Private(workspaceID string) string {
	return filepath.Join(d.Data, "private", workspaceID)
}

// Quarantine returns the directory of the private git directory that the sandboxed
// sessions of a workspace have. Quarantine("") holds those of all.
func (d Dirs) Quarantine(workspaceID string) string {
	return filepath.Join(d.Data, "quarantine", workspaceID)
}

// Workers returns the directory of the records of what each worker did.
func (d Dirs) Workers() string { return filepath.Join(d.Data, "workers") }

// Attached returns the directory that remembers which sessions the user attached
// to, and when.
func (d Dirs) Attached() string { return filepath.Join(d.Data, "attached") }

// SetupLog returns the file with the output of a workspace's setup or teardown.
func (d Dirs) SetupLog(workspaceID string) string {
	return filepath.Join(d.Data, "setup", workspaceID+".log")
}

// TLS returns the directory of the local certificate authority.
func (d Dirs) TLS() string { return filepath.Join(d.Data, "tls") }

// Database returns the SQLite file.
func (d Dirs) Database() string { return filepath.Join(d.Data, "middleman.db") }

// Statuses returns the file in which a server saves the states of workspaces.
func (d Dirs) Statuses() string { return filepath.Join(d.Data, "statuses.json") }

// Profiles returns the file that says which profiles' rules were tried on
// recordings of the real programs.
func (d Dirs) Profiles() string { return filepath.Join(d.Data, "profiles.json") }

// ServeFile returns the file that says how to reach the running server.
func (d Dirs) ServeFile() string { return filepath.Join(d.Runtime, "serve.json") }

// WithSockets returns the directories that have sockets and what opens them: who
// reaches these acts as the user.
func (d Dirs) WithSockets() []string { return []string{d.Runtime, d.Sockets(), d.Sessions()} }

// Scratch returns the directory of package scratch. No sandboxed program can write
// there.
func (d Dirs) Scratch() string { return filepath.Join(d.Runtime, "scratch") }

// ServerSocket returns the server's Unix socket.
func (d Dirs) ServerSocket() string { return filepath.Join(d.Sockets(), "middleman.sock") }

// Own returns the directory with the socket at which sandboxed sessions reach the
// server. It is all that they see of the directories for sockets.
func (d Dirs) Own() string { return filepath.Join(d.Sockets(), "own") }

// OwnSocket returns the Unix socket for requests of sessions about themselves.
func (d Dirs) OwnSocket() string { return filepath.Join(d.Own(), "own.sock") }

// OwnFile returns the file by which sessions that have no Unix sockets reach the server
// instead, see package pinned.
func (d Dirs) OwnFile() string { return filepath.Join(d.Own(), OwnFileName) }

// OwnFileName is the name of Dirs.OwnFile in the directory of Dirs.OwnSocket.
const OwnFileName = "own.json"

// PortSocket returns the Unix socket of the process that holds the server's
// port.
func (d Dirs) PortSocket() string { return filepath.Join(d.Sockets(), "port.sock") }

// ViewerSocket returns the Unix socket of the `attach` that shows the session
// with that id.
func (d Dirs) ViewerSocket(id string) string { return filepath.Join(d.Sockets(), "v"+id[1:]+".sock") }

// ServerLog returns the file with the output of a server in the background.
func (d Dirs) ServerLog() string { return filepath.Join(d.Data, "server.log") }

// InstanceFile returns the file that one server leaves for the next: its
// identity to browsers, its address, and its TLS settings.
func (d Dirs) InstanceFile() string { return filepath.Join(d.Data, "instance.json") }

// ServerLock returns the file that a server locks for its whole life.
func (d Dirs) ServerLock() string { return filepath.Join(d.Data, "server.lock") }

// File returns the user's configuration file.
func (d Dirs) File() string { return filepath.Join(d.Config, "config.toml") }

// Policy returns the file with the host's policy for bundles.
func (d Dirs) Policy() string { return filepath.Join(d.Config, "policy.toml") }

// SecretFiles returns the directory with a file for each secret that bundles refer to.
func (d Dirs) SecretFiles() string { return filepath.Join(d.Config, "secrets") }

// tmuxFile returns the user's configuration file for the private tmux server.
func (d Dirs) tmuxFile() string { return filepath.Join(d.Config, "tmux.conf") }
