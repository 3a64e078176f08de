package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"

	"middleman/internal/plainfile"
)

// DefaultListen is where the server listens for browsers.
const DefaultListen = "127.0.0.1:8091"

// Config is what the user set in config.toml, the defaults filled in.
type Config struct {
	// Listen is the TCP address of the server.
	Listen string `toml:"listen"`
	// Backend hosts new sessions: "auto", "tmux" or "pty-owner".
	Backend string `toml:"backend"`
	// BranchPrefix begins the name of each branch that a workspace gets.
	BranchPrefix string `toml:"branch_prefix"`
	// Workspaces is where worktrees are made: "data", in the data directory, or
	// "repository", in .middleman/work of the repository.
	Workspaces string `toml:"workspaces"`
	// Hosts are further names that browsers may reach the server by.
	Hosts    []string `toml:"hosts"`
	TLS      TLS      `toml:"tls"`
	Attach   Attach   `toml:"attach"`
	Terminal Terminal `toml:"terminal"`
	Ports    Ports    `toml:"ports"`
	Setup    Setup    `toml:"setup"`
}

// TLS is how the server encrypts what comes over TCP; the zero value does not.
type TLS struct {
	// Local has a local authority of ours make the certificate.
	Local bool `toml:"local"`
	// Cert and Key are PEM files of a certificate chain and its private key.
	Cert string `toml:"cert"`
	Key  string `toml:"key"`
}

// Enabled reports whether anything is encrypted.
func (t TLS) Enabled() bool { return t.Local || t.Cert != "" || t.Key != "" }

// Check refuses what goes without the other, or not with it.
func (t TLS) Check() error {
	switch {
	case (t.Cert == "") != (t.Key == ""):
		return errors.New("tls: a certificate and its key go together")
	case t.Local && t.Cert != "":
		return errors.New("tls: use either the local authority or a certificate of your own")
	}
	return nil
}

// Ports are what workspaces get to listen on: consecutive ones, which no other
// workspace has.
type Ports struct {
	// First and Last are the range that they come from.
	First int `toml:"first"`
	Last  int `toml:"last"`
	// Count is how many each gets whose repository does not say; 0 is none.
	Count int `toml:"count"`
}

// Setup is how the commands of a repository's configuration are run.
type Setup struct {
	// Timeout is how long setup, or teardown, may take as a whole.
	Timeout Duration `toml:"timeout"`
}

// Attach is how a terminal joins a session.
type Attach struct {
	// Detach is the key that detaches, "ctrl-" and one of a to z or [ \ ] ^ _.
	Detach string `toml:"detach"`
	// Scrollback is how many lines of the past are drawn first; negative
	// draws all that is kept.
	Scrollback int `toml:"scrollback"`
	// Clipboard is whether the program of a session that is attached may set
	// the terminal's clipboard, where the session allows it: "allow", "ask" or
	// "deny".
	Clipboard string `toml:"clipboard"`
}

// Terminal is what new sessions get.
type Terminal struct {
	// JournalBytes is how much output is kept at least; 0 keeps all of it.
	JournalBytes int64 `toml:"journal_bytes"`
	// HistoryLines is how many lines of scrollback tmux keeps of a session.
	HistoryLines int `toml:"history_lines"`
	// Grace is how long a stop waits between SIGTERM and SIGKILL.
	Grace Duration `toml:"grace"`
	// Clipboard is whether the program may set the clipboard of anybody who is
	// attached: "allow", "ask" or "deny".
	Clipboard string `toml:"clipboard"`
}

// Duration is a time.Duration written as "5s" or "1m30s".
type Duration time.Duration

// UnmarshalText reads the form of time.ParseDuration.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	if err != nil {
		return err
	}
	if v < 0 {
		return fmt.Errorf("duration %q is negative", text)
	}
	*d = Duration(v)
	return nil
}

// Default returns the configuration of a user who set nothing.
func Default() Config {
	return Config{
		Listen:       DefaultListen,
		Backend:      "auto",
		BranchPrefix: "middleman",
		Workspaces:   "data",
		Attach:       Attach{Detach: `ctrl-\`, Scrollback: 1000, Clipboard: "allow"},
		Terminal:     Terminal{JournalBytes: 16 << 20, HistoryLines: 10000, Grace: Duration(5 * time.Second), Clipboard: "allow"},
		Ports:        Ports{First: 20000, Last: 29999, Count: 10},
		Setup:        Setup{Timeout: Duration(15 * time.Minute)},
	}
}

// Load reads the configuration file at path. No file is no error: it means
// the defaults. A key that is not known is an error, since it is mostly a
// misspelt one.
func Load(path string) (Config, error) {
	const maxFile = 1 << 20 // bytes
	c := Default()
	raw, err := plainfile.ReadFollowed(path, maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	if err != nil {
		return c, fmt.Errorf("read configuration %s: %w", path, err)
	}
	if err := c.parse(raw); err != nil {
		return c, fmt.Errorf("read configuration %s: %w", path, err)
	}
	return c, nil
}

// parse sets what raw says.
func (c *Config) parse(raw []byte) error {
	if err := toml.NewDecoder(bytes.NewReader(raw)).DisallowUnknownFields().Decode(c); err != nil {
		return describe(err)
	}
	return c.check()
}

// describe puts the place of a TOML error on one line.
func describe(err error) error {
	if e, ok := errors.AsType[*toml.StrictMissingError](err); ok && len(e.Errors) > 0 {
		row, _ := e.Errors[0].Position()
		return fmt.Errorf("line %d: there is no setting %s", row, strings.Join(e.Errors[0].Key(), "."))
	}
	if e, ok := errors.AsType[*toml.DecodeError](err); ok {
		row, _ := e.Position()
		return fmt.Errorf("line %d: %s", row, strings.TrimPrefix(e.Error(), "toml: "))
	}
	return err
}

func (c Config) check() error {
	switch c.Backend {
	case "auto", "tmux", "pty-owner":
	default:
		return fmt.Errorf("backend is %q: it must be auto, tmux or pty-owner", c.Backend)
	}
	if c.Workspaces != "data" && c.Workspaces != "repository" {
		return fmt.Errorf("workspaces is %q: it must be data or repository", c.Workspaces)
	}
	if _, err := c.Attach.DetachByte(); err != nil {
		return err
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
	if err := c.TLS.Check(); err != nil {
		return err
	}
	return c.Ports.check()
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

// DetachByte is the byte that a terminal sends for the detach key.
func (a Attach) DetachByte() (byte, error) {
	key, ok := strings.CutPrefix(strings.ToLower(a.Detach), "ctrl-")
	if ok && len(key) == 1 {
		switch c := key[0]; {
		case c >= 'a' && c <= 'z':
			return c & 0x1f, nil
		case strings.IndexByte(`[\]^_`, c) >= 0:
			return c & 0x1f, nil
		}
	}
	return 0, fmt.Errorf(`attach.detach is %q: it must be "ctrl-" and one of a to z or [ \ ] ^ _`, a.Detach)
}
