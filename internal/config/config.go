package config

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"path"
	"path/filepath"
	"strings"
	"time"

	"middleman/internal/agent"
	"middleman/internal/plainfile"
	"middleman/internal/tomlfile"
)

// defaultListen is the address at which the server listens for browsers.
const defaultListen = "127.0.0.1:8091"

// Config is the content of config.toml, with defaults for what it leaves out.
type Config struct {
	// Listen is the TCP address of the server.
	Listen string `toml:"listen"`
	// Backend hosts new sessions: "auto", "tmux" or "pty-owner".
	Backend string `toml:"backend"`
	// BranchPrefix begins the name of each branch that a workspace gets.
	BranchPrefix string `toml:"branch_prefix"`
	// Workspaces says where worktrees are made: "data" is the data directory,
	// "repository" is .middleman/work in the repository, else it is the absolute
	// path of a directory.
	Workspaces Place `toml:"workspaces"`
	// Hosts are more names by which browsers may reach the server.
	Hosts    []string `toml:"hosts"`
	TLS      TLS      `toml:"tls"`
	Attach   Attach   `toml:"attach"`
	Terminal Terminal `toml:"terminal"`
	Notify   Notify   `toml:"notify"`
	Ports    Ports    `toml:"ports"`
	Setup    Setup    `toml:"setup"`
	Env      Env      `toml:"env"`
	Shell    Shell    `toml:"shell"`
	// Profiles say how programs are launched, by name, in addition to those that
	// are built in.
	Profiles map[string]agent.Definition `toml:"profiles"`
	// Transcripts are those of sessions of deleted workspaces.
	Transcripts Transcripts `toml:"transcripts"`
	// Watch limits how the server notices changes in workspaces.
	Watch   Watch   `toml:"watch"`
	Sandbox Sandbox `toml:"sandbox"`
}

// Place is where worktrees are made.
type Place string

// Env says which variables of a caller's shell, and of the user's login, reach
// sessions. Its lists are patterns of names, in the form of path.Match.
type Env struct {
	// Forward are the variables that pass; the others do not.
	Forward []string `toml:"forward"`
	// Deny are those that never pass, whatever Forward says.
	Deny []string `toml:"deny"`
	// SSHAgentLink lets SSH_AUTH_SOCK of a session lead to the agent of whoever
	// attached last.
	SSHAgentLink bool `toml:"ssh_agent_link"`
}

// Shell says how a session's shell is started, if it has no other command.
type Shell struct {
	// Login starts it as a login shell.
	Login bool `toml:"login"`
}

// TLS says how the server encrypts TCP connections. The zero value does not.
type TLS struct {
	// Local uses a certificate of our own local authority.
	Local bool `toml:"local"`
	// Cert and Key are the PEM files of a certificate chain and its private
	// key.
	Cert string `toml:"cert"`
	Key  string `toml:"key"`
}

// Enabled reports whether the server encrypts.
func (t TLS) Enabled() bool { return t.Local || t.Cert != "" || t.Key != "" }

// Check refuses Cert without Key, Key without Cert, and either with Local.
func (t TLS) Check() error {
	switch {
	case (t.Cert == "") != (t.Key == ""):
		return errors.New("tls: a certificate and its key go together")
	case t.Local && t.Cert != "":
		return errors.New("tls: use either the local authority or a certificate of your own")
	}
	return nil
}

// Ports are the TCP ports that workspaces get to listen on: consecutive ones,
// different for each workspace.
type Ports struct {
	// First and Last are the ends of the range, both included.
	First int `toml:"first"`
	Last  int `toml:"last"`
	// Count is how many ports a workspace gets if its repository does not say;
	// 0 is none.
	Count int `toml:"count"`
}

// Setup says how the commands of a repository's configuration run.
type Setup struct {
	// Timeout is how long setup or teardown may take in total.
	Timeout Duration `toml:"timeout"`
}

// Transcripts limits the transcripts of sessions of deleted workspaces: their output,
// last screens and exits.
type Transcripts struct {
	// Keep is how much disk space they may take in all. Beyond that, those of the
	// oldest deletion are removed first.
	Keep Budget `toml:"keep"`
}

// Watch limits how many directories the server watches for changes. A workspace
// beyond a limit is inspected when it is listed instead.
type Watch struct {
	// Directories is the limit for all workspaces together; 0 watches none.
	Directories int `toml:"directories"`
	// PerWorkspace is the limit for one workspace.
	PerWorkspace int `toml:"per_workspace"`
}

// Attach says how a terminal joins a session.
type Attach struct {
	// Detach is the key that detaches, "ctrl-" and one of a to z or [ \ ] ^ _.
	Detach string `toml:"detach"`
	// Switch is the key that lists the other sessions, to go to one of them: a
	// key as for Detach, or "none".
	Switch string `toml:"switch"`
	// Scrollback is how many past lines an attach prints first. A negative
	// number prints all that are kept.
	Scrollback int `toml:"scrollback"`
	// Clipboard says whether the program of an attached session may set this
	// terminal's clipboard, if the session allows it: "allow", "ask" or "deny".
	Clipboard string `toml:"clipboard"`
}

// Notify says how the user is told what agents need and have done.
type Notify struct {
	// Terminal is how attach and watch tell of other sessions: "bell", "osc9",
	// "osc777" or "off".
	Terminal string `toml:"terminal"`
	// Command is a program and its arguments. The server runs it for each notice.
	Command []string `toml:"command"`
	// PushPrivate lets push services have private addresses.
	PushPrivate bool `toml:"push_private"`
}

// check refuses an unknown way, and a command that cannot be meant.
func (n Notify) check() error {
	switch n.Terminal {
	case "bell", "osc9", "osc777", "off":
	default:
		return fmt.Errorf("notify.terminal is %q: it must be bell, osc9, osc777 or off", n.Terminal)
	}
	for _, arg := range n.Command {
		if strings.ContainsRune(arg, 0) {
			return fmt.Errorf("notify.command: %q has a NUL in it", arg)
		}
	}
	if len(n.Command) > 0 && (n.Command[0] == "" || strings.Contains(n.Command[0], "/") && !filepath.IsAbs(n.Command[0])) {
		return fmt.Errorf("notify.command: %q must be the name of a program or an absolute path", n.Command[0])
	}
	return nil
}

// Terminal holds the settings of new sessions.
type Terminal struct {
	// JournalBytes is the least number of output bytes that are kept; 0 keeps
	// all.
	JournalBytes int64 `toml:"journal_bytes"`
	// HistoryLines is how many lines of scrollback tmux keeps for a session.
	HistoryLines int `toml:"history_lines"`
	// Grace is how long a stop waits after SIGTERM before it sends SIGKILL.
	Grace Duration `toml:"grace"`
	// Clipboard says whether the program may set the clipboard of attached
	// terminals: "allow", "ask" or "deny".
	Clipboard string `toml:"clipboard"`
}

// Duration is a time.Duration written as "5s" or "1m30s".
type Duration time.Duration

// UnmarshalText parses the format of time.ParseDuration. It refuses negative
// values.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	if err != nil {
		return fmt.Errorf("%q is no duration such as 5s or 1m30s", text)
	}
	if v < 0 {
		return fmt.Errorf("duration %q is negative", text)
	}
	*d = Duration(v)
	return nil
}

// Default returns the configuration of a user without a config.toml.
func Default() Config {
	return Config{
		Listen:       defaultListen,
		Backend:      "auto",
		BranchPrefix: "middleman",
		Workspaces:   "data",
		Attach:       Attach{Detach: `ctrl-\`, Switch: "ctrl-]", Scrollback: 1000, Clipboard: "allow"},
		Terminal:     Terminal{JournalBytes: 16 << 20, HistoryLines: 10000, Grace: Duration(5 * time.Second), Clipboard: "allow"},
		Notify:       Notify{Terminal: "bell"},
		Ports:        Ports{First: 20000, Last: 29999, Count: 10},
		Setup:        Setup{Timeout: Duration(15 * time.Minute)},
		Env:          Env{Forward: []string{"*"}, SSHAgentLink: true},
		Transcripts:  Transcripts{Keep: 2 << 30},
		Watch:        Watch{Directories: 32768, PerWorkspace: 4096},
		Sandbox:      Sandbox{Level: "auto"},
	}
}

// Load reads a configuration file. A missing file is no error and
// means the defaults. An unknown key is an error, because it is mostly a
// misspelt one.
func Load(file string) (Config, error) {
	const maxFile = 1 << 20 // bytes
	c := Default()
	raw, err := plainfile.ReadFollowed(file, maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	if err != nil {
		return c, fmt.Errorf("read configuration %s: %w", file, err)
	}
	if err := c.parse(raw); err != nil {
		return c, fmt.Errorf("read configuration %s: %w", file, err)
	}
	return c, nil
}

// parse sets what raw says, and checks the result.
func (c *Config) parse(raw []byte) error {
	if err := tomlfile.Decode(raw, c, "; `middleman man settings` describes all"); err != nil {
		return err
	}
	return c.check()
}

// CheckListen returns an error unless a server can be told to listen at address, as
// HOST:PORT. An empty host means all addresses.
func CheckListen(address string) error {
	_, port, err := net.SplitHostPort(address)
	if err == nil && port != "" {
		_, err = net.LookupPort("tcp", port)
	}
	if err != nil || port == "" {
		return fmt.Errorf("%q: it must be HOST:PORT, such as %s, with a port from 0 to 65535", address, defaultListen)
	}
	return nil
}

func (c Config) check() error {
	if err := c.checkPlaces(); err != nil {
		return err
	}
	detach, err := c.Attach.DetachByte()
	if err != nil {
		return err
	}
	if key, err := c.Attach.SwitchByte(); err != nil {
		return err
	} else if key == detach {
		return fmt.Errorf(`attach.detach and attach.switch are both %q: choose another key for one of them, or switch = "none"`, c.Attach.Switch)
	}
	if err := checkClipboard("attach.clipboard", c.Attach.Clipboard); err != nil {
		return err
	}
	if err := checkClipboard("terminal.clipboard", c.Terminal.Clipboard); err != nil {
		return err
	}
	if c.Terminal.JournalBytes < 0 {
		return fmt.Errorf("terminal.journal_bytes is %d: it must be 0 (keep all) or more", c.Terminal.JournalBytes)
	}
	if c.Terminal.HistoryLines < 1 {
		return fmt.Errorf("terminal.history_lines is %d: it must be 1 or more", c.Terminal.HistoryLines)
	}
	if c.Setup.Timeout == 0 {
		return errors.New("setup.timeout is 0: it must be more, such as \"15m\"")
	}
	if c.Transcripts.Keep < keepAll {
		return fmt.Errorf("transcripts.keep is %d: it must be a size such as \"2GiB\", \"none\" or \"all\"", c.Transcripts.Keep)
	}
	if c.Watch.Directories < 0 || c.Watch.PerWorkspace < 0 {
		return fmt.Errorf("watch.directories is %d and watch.per_workspace %d: they must be 0 (watch none) or more", c.Watch.Directories, c.Watch.PerWorkspace)
	}
	if err := c.Notify.check(); err != nil {
		return err
	}
	if err := c.TLS.Check(); err != nil {
		return err
	}
	for name, p := range c.Profiles {
		if name == agent.Shell {
			return fmt.Errorf("profiles: %q is the user's shell: choose another name", name)
		}
		if err := p.Whole(name).Check(name); err != nil {
			return err
		}
	}
	if err := c.Sandbox.check(c.Profiles); err != nil {
		return err
	}
	if err := c.Env.check(); err != nil {
		return err
	}
	return c.Ports.check()
}

// checkPlaces checks where the server listens, and where sessions and workspaces are.
func (c Config) checkPlaces() error {
	if err := CheckListen(c.Listen); err != nil {
		return fmt.Errorf("listen is %w", err)
	}
	switch c.Backend {
	case "auto", "tmux", "pty-owner":
	default:
		return fmt.Errorf("backend is %q: it must be auto, tmux or pty-owner", c.Backend)
	}
	if c.Workspaces != "data" && c.Workspaces != "repository" && !filepath.IsAbs(string(c.Workspaces)) {
		return fmt.Errorf("workspaces is %q: it must be data, repository or an absolute path", c.Workspaces)
	}
	if err := plainfile.CheckPath(string(c.Workspaces)); err != nil {
		return fmt.Errorf("workspaces is %q: %w", c.Workspaces, err)
	}
	return nil
}

func (e Env) check() error {
	for _, list := range []struct {
		setting  string
		patterns []string
	}{{"env.forward", e.Forward}, {"env.deny", e.Deny}} {
		for _, pattern := range list.patterns {
			if _, err := path.Match(pattern, ""); err != nil || pattern == "" || strings.ContainsAny(pattern, "=\x00") {
				return fmt.Errorf(`%s has %q: it must be the name of a variable, or a pattern such as "AWS_*"`, list.setting, pattern)
			}
		}
	}
	return nil
}

func checkClipboard(setting, policy string) error {
	switch policy {
	case "allow", "ask", "deny":
		return nil
	}
	return fmt.Errorf("%s is %q: it must be allow, ask or deny", setting, policy)
}

func (p Ports) check() error {
	switch {
	case p.First < 1024 || p.Last > 65535 || p.First > p.Last:
		return fmt.Errorf("ports.first and ports.last are %d and %d: they must be a range within 1024 to 65535", p.First, p.Last)
	case p.Count < 0 || p.Count > p.Last-p.First+1:
		return fmt.Errorf("ports.count is %d: it must be 0 (none) to %d, the size of the range", p.Count, p.Last-p.First+1)
	}
	return nil
}

// DetachByte returns the byte that a terminal sends for the detach key.
func (a Attach) DetachByte() (byte, error) { return keyByte("attach.detach", a.Detach, "") }

// SwitchByte returns the byte that a terminal sends for the switch key, and 0 if
// there is none.
func (a Attach) SwitchByte() (byte, error) {
	if a.Switch == "none" {
		return 0, nil
	}
	return keyByte("attach.switch", a.Switch, `, or "none"`)
}

// keyByte returns the byte that a terminal sends for a key. otherwise tells what
// else the setting may be.
func keyByte(setting, name, otherwise string) (byte, error) {
	key, ok := strings.CutPrefix(strings.ToLower(name), "ctrl-")
	if ok && len(key) == 1 {
		switch c := key[0]; {
		case c >= 'a' && c <= 'z':
			return c & 0x1f, nil
		case strings.IndexByte(`[\]^_`, c) >= 0:
			return c & 0x1f, nil
		}
	}
	return 0, fmt.Errorf(`%s is %q: it must be "ctrl-" and one of a to z or [ \ ] ^ _%s`, setting, name, otherwise)
}
