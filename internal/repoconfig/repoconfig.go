package repoconfig

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"middleman/internal/agent"
	"middleman/internal/tomlfile"
)

// Name is the file's, at the top of a checkout.
const Name = ".middleman.toml"

// Limits of what is taken for a configuration.
const (
	maxSize  = 64 << 10 // bytes of the file
	maxItems = 100      // of each list and table
	maxPorts = 1000
)

// Config is what a repository wants for its workspaces.
type Config struct {
	// Setup and Teardown are commands for the shell, one after the other: of a
	// new workspace, and before it is deleted.
	Setup    []string `toml:"setup"`
	Teardown []string `toml:"teardown"`
	// Check are commands for the shell, one after the other, before a workspace is
	// merged. If one fails it is not merged.
	Check []string `toml:"check"`
	// Copy are patterns as of .gitignore: files that git ignores, to be copied
	// from the main checkout.
	Copy []string `toml:"copy"`
	// Ports is how many ports a workspace gets; nil leaves it to the user.
	Ports *int `toml:"ports"`
	// Env is for commands and sessions.
	Env map[string]string `toml:"env"`
	// Profiles say how programs are launched, by name.
	Profiles map[string]agent.Definition `toml:"profiles"`
}

// Hash names content: SHA-256 over its bytes, in hexadecimal.
func Hash(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// Parse reads content. An unknown key, or a value that makes no sense, is an error
// of one line, which names the line or the setting.
func Parse(content []byte) (Config, error) {
	var c Config
	if err := tomlfile.Decode(content, &c, "; `middleman man toml` describes all"); err != nil {
		return Config{}, fmt.Errorf("%s: %w", Name, err)
	}
	if err := c.check(); err != nil {
		return Config{}, fmt.Errorf("%s: %w", Name, err)
	}
	return c, nil
}

var envName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
})

func (c Config) check() error {
	for _, list := range []struct {
		name  string
		items []string
	}{{"setup", c.Setup}, {"teardown", c.Teardown}, {"check", c.Check}, {"copy", c.Copy}} {
		if err := checkList(list.name, list.items); err != nil {
			return err
		}
	}
	for _, pattern := range c.Copy {
		if err := checkPattern(pattern); err != nil {
			return err
		}
	}
	if c.Ports != nil && (*c.Ports < 0 || *c.Ports > maxPorts) {
		return fmt.Errorf("ports is %d: it must be 0 to %d", *c.Ports, maxPorts)
	}
	if len(c.Env) > maxItems || len(c.Profiles) > maxItems {
		return fmt.Errorf("env or profiles: more than %d of them", maxItems)
	}
	for name, value := range c.Env {
		if !envName().MatchString(name) || strings.HasPrefix(name, "MIDDLEMAN_") || strings.ContainsRune(value, 0) {
			return fmt.Errorf("env: %q cannot be set: a name consists of letters, digits and underscores and does not begin with MIDDLEMAN_, and a value has no NUL", name)
		}
	}
	for name, p := range c.Profiles {
		if err := p.Check(name); err != nil {
			return err
		}
		if agent.IsBuiltIn(name) {
			return fmt.Errorf("profiles: %q is a built-in profile: choose another name", name)
		}
	}
	return nil
}

func checkList(name string, items []string) error {
	if len(items) > maxItems {
		return fmt.Errorf("%s: more than %d items", name, maxItems)
	}
	for _, item := range items {
		if strings.TrimSpace(item) == "" || strings.ContainsRune(item, 0) {
			return fmt.Errorf("%s: %q is empty, or has a NUL in it", name, item)
		}
	}
	return nil
}

// checkPattern refuses what can match nothing in the checkout, since it was
// meant to match something elsewhere.
func checkPattern(pattern string) error {
	if slices.Contains(strings.Split(pattern, "/"), "..") {
		return fmt.Errorf("copy: %q: only files of the checkout can be copied", pattern)
	}
	if strings.ContainsAny(pattern, "\r\n") {
		return fmt.Errorf("copy: %q has more than one line", pattern)
	}
	return nil
}

// Environ is Env as NAME=value, by name.
func (c Config) Environ() []string {
	env := make([]string, 0, len(c.Env))
	for name, value := range c.Env {
		env = append(env, name+"="+value)
	}
	slices.Sort(env)
	return env
}
