// Package grants decides which mounts, hosts, secrets and capabilities a session of a
// bundle's profile gets on this host, by the host's own policy file, and reads the
// secrets. It starts no session.
//
// Without a policy file a profile gets what its sandbox has anyway, and nothing else.
package grants

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"middleman/internal/agent"
	"middleman/internal/bundle"
	"middleman/internal/egress"
	"middleman/internal/private"
	"middleman/internal/tomlfile"
)

// Actions of a rule.
const (
	allow  = "allow"
	deny   = "deny"
	narrow = "narrow" // give less: a mount to read alone, some hosts, git without commits
)

// Limits of a policy.
const (
	maxPolicy = 1 << 20 // bytes
	maxRules  = 1000
)

// Policy is what policy.toml says.
type Policy struct {
	// Rules decide in their order: the first that matches counts.
	Rules   []Rule  `toml:"rules"`
	Secrets Secrets `toml:"secrets"`
}

// Rule decides about declarations.
type Rule struct {
	Name string `toml:"name"` // shown with what it decides
	Kind string `toml:"kind"` // such as mount-grant
	// Match are patterns of the names behind the kind, in the form of path.Match.
	Match []string `toml:"match"`
	// Bundles are patterns of the ids of bundles; none means all.
	Bundles []string `toml:"bundles"`
	Action  string   `toml:"action"`
	// Path is what a mount-grant gives.
	Path string `toml:"path"`
	// Hosts are what is left of a narrowed network-policy.
	Hosts []string `toml:"hosts"`
}

// Secrets says where secrets come from besides the files in the directory secrets.
type Secrets struct {
	// Command prints the secret that stands for {name}; nil for none.
	Command []string `toml:"command"`
}

// Load reads the policy file. A missing one is the empty policy. One that others can
// write, or that cannot be meant, is an error.
func Load(file string) (Policy, error) {
	raw, err := private.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return Policy{}, nil
	}
	var p Policy
	if err == nil {
		p, err = parse(raw)
	}
	if err != nil {
		return Policy{}, fmt.Errorf("read the policy of this host, policy.toml: %w", err)
	}
	return p, nil
}

// parse reads a policy, and refuses what cannot be meant.
func parse(raw []byte) (p Policy, err error) {
	if len(raw) > maxPolicy {
		return p, fmt.Errorf("it has more than %d bytes", maxPolicy)
	}
	if err := tomlfile.Decode(raw, &p, ""); err != nil {
		return Policy{}, err
	}
	if len(p.Rules) > maxRules {
		return Policy{}, fmt.Errorf("it has more than %d rules", maxRules)
	}
	for i, rule := range p.Rules {
		if err := rule.check(); err != nil {
			return Policy{}, fmt.Errorf("rule %d (%q): %w", i+1, rule.Name, err)
		}
	}
	return p, p.Secrets.check()
}

func (r Rule) check() error {
	switch {
	case strings.TrimSpace(r.Name) == "" || r.Name == builtIn || r.Name == noRule:
		return fmt.Errorf("name: give it one of its own, which sessions show, and not %q", r.Name)
	case !slices.Contains(bundle.Kinds, r.Kind):
		return fmt.Errorf("kind is %q: it must be one of %s", r.Kind, strings.Join(bundle.Kinds, ", "))
	case len(r.Match) == 0:
		return errors.New(`match is missing: list what the rule applies to, or "*"`)
	case r.Action != allow && r.Action != deny && r.Action != narrow:
		return fmt.Errorf("action is %q: it must be %s, %s or %s", r.Action, allow, deny, narrow)
	case r.Action == narrow && !slices.Contains([]string{bundle.Mount, bundle.Network, bundle.Git}, r.Kind):
		return fmt.Errorf("action is narrow: a %s cannot be given in part", r.Kind)
	case (r.Path != "") != (r.Kind == bundle.Mount && r.Action != deny):
		return fmt.Errorf("path: a %s that is not denied has it, and nothing else does", bundle.Mount)
	case r.Path != "" && !agent.IsPlace(r.Path):
		return fmt.Errorf("path is %q: it must be an absolute path, or begin with ~/", r.Path)
	case (len(r.Hosts) > 0) != (r.Kind == bundle.Network && r.Action == narrow):
		return fmt.Errorf("hosts: a %s with the action narrow has them, and nothing else does", bundle.Network)
	}
	if _, err := egress.Parse(r.Hosts); err != nil {
		return fmt.Errorf("hosts: %w", err)
	}
	for _, pattern := range slices.Concat(r.Match, r.Bundles) {
		if _, err := path.Match(pattern, ""); err != nil || pattern == "" {
			return fmt.Errorf("%q is not a valid pattern", pattern)
		}
	}
	return nil
}

func (s Secrets) check() error {
	if len(s.Command) == 0 {
		return nil
	}
	if !filepath.IsAbs(s.Command[0]) {
		return fmt.Errorf("secrets.command: %q must be the absolute path of a program", s.Command[0])
	}
	if !slices.ContainsFunc(s.Command[1:], func(arg string) bool { return strings.Contains(arg, nameHole) }) {
		return fmt.Errorf("secrets.command: no argument has %s in it", nameHole)
	}
	return nil
}

// rule returns the first rule about a reference of a bundle, nil for none.
func (p Policy) rule(id string, ref bundle.Ref) *Rule {
	matches := func(patterns []string, text string) bool {
		return slices.ContainsFunc(patterns, func(pattern string) bool {
			ok, err := path.Match(pattern, text)
			return ok && err == nil
		})
	}
	for i, r := range p.Rules {
		if r.Kind == ref.Kind && matches(r.Match, ref.Name) && (len(r.Bundles) == 0 || matches(r.Bundles, id)) {
			return &p.Rules[i]
		}
	}
	return nil
}
