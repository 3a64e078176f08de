package config

import (
	"fmt"

	"middleman/internal/agent"
	"middleman/internal/egress"
)

// Sandbox says what sessions may touch.
type Sandbox struct {
	// Level is that of a session that names none and whose profile names none:
	// "auto" is workspace for coding agents, and none for shells and commands.
	Level string `toml:"level"`
	// Hide are more files and directories that a sandboxed program does not read,
	// and Show those that it reads although they are hidden otherwise.
	Hide []string `toml:"hide"`
	Show []string `toml:"show"`
	// Writable are directories that every sandboxed program may change.
	Writable []string `toml:"writable"`
	// Network lists the hosts that a sandboxed program can reach, in the form of
	// egress.Parse; nil is no limit, or at level strict none.
	Network []string `toml:"network"`
	// Secrets lists variables whose values sandboxed programs do not have, in the form
	// of egress.ParseSecrets.
	Secrets []string `toml:"secrets"`
	// Logins are profiles whose programs may renew the user's login: what they write to
	// the files that agent.Definition.Logins names comes out of the sandbox.
	Logins []string `toml:"logins"`
	// Memory, FileSize and Processes bound what a sandboxed session uses; 0 is no bound.
	Memory    Size  `toml:"memory"`
	FileSize  Size  `toml:"file_size"`
	Processes int64 `toml:"processes"`
}

// check also needs the user's profiles.
func (s Sandbox) check(profiles map[string]agent.Definition) error {
	switch s.Level {
	case "auto", "none", "workspace", "strict":
	default:
		return fmt.Errorf("sandbox.level is %q: it must be auto, none, workspace or strict", s.Level)
	}
	for _, list := range []struct {
		setting string
		paths   []string
	}{{"sandbox.hide", s.Hide}, {"sandbox.show", s.Show}, {"sandbox.writable", s.Writable}} {
		for _, path := range list.paths {
			if !agent.IsPlace(path) {
				return fmt.Errorf("%s has %q: it must be an absolute path, or begin with ~/", list.setting, path)
			}
		}
	}
	if _, err := egress.Parse(s.Network); err != nil {
		return fmt.Errorf("sandbox.network: %w", err)
	}
	if _, err := egress.ParseSecrets(s.Secrets); err != nil {
		return fmt.Errorf("sandbox.secrets: %w", err)
	}
	for all, i := agent.Profiles(profiles, nil), 0; i < len(s.Logins); i++ {
		if p, known := all[s.Logins[i]]; !known || len(p.Logins) == 0 && p.Bundle == "" {
			return fmt.Errorf("sandbox.logins has %q: it must be a profile with logins, such as claude or codex", s.Logins[i])
		}
	}
	return s.checkLimits()
}

// The least limits. Below them the hooks of agents, which run this program inside, would
// end with a trace of Go's runtime: it maps memory and starts threads, which count as
// processes, before the program begins.
const (
	leastMemory    Size  = 256 << 20
	leastFileSize  Size  = 1 << 20
	leastProcesses int64 = 64
)

func (s Sandbox) checkLimits() error {
	switch {
	case s.Memory != 0 && s.Memory < leastMemory:
		return tooSmall("memory", s.Memory, leastMemory)
	case s.FileSize != 0 && s.FileSize < leastFileSize:
		return tooSmall("file_size", s.FileSize, leastFileSize)
	case s.Processes != 0 && s.Processes < leastProcesses:
		return fmt.Errorf("sandbox.processes is %d: it must be 0 (no bound), or at least %d, since threads count too and hooks of agents need some", s.Processes, leastProcesses)
	}
	return nil
}

func tooSmall(setting string, got, least Size) error {
	a, _ := got.MarshalText() // has no error
	b, _ := least.MarshalText()
	return fmt.Errorf("sandbox.%s is %s: it must be none, or at least %s, which git and the hooks of agents need", setting, a, b)
}

// Size is a number of bytes, written as "4GiB"; 0, written as "none", is no bound.
type Size int64

// UnmarshalText parses "none", or what ParseBytes parses.
func (s *Size) UnmarshalText(text []byte) error {
	if string(text) == "none" {
		*s = 0
		return nil
	}
	n, err := ParseBytes(string(text))
	if err != nil {
		return fmt.Errorf("want none or a size: %w", err)
	}
	*s = Size(n)
	return nil
}

// MarshalText writes the size as UnmarshalText reads it.
func (s Size) MarshalText() ([]byte, error) { return Budget(s).MarshalText() }

// Kind says what a size looks like.
func (Size) Kind() string { return `size such as "4GiB", or "none"` }
