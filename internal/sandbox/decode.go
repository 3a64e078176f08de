package sandbox

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
)

const (
	schema    = 1
	maxPolicy = 1 << 20 // bytes of a policy file
	maxPaths  = 4096    // of one list of a policy
	maxPath   = 4095    // bytes of one path, as Linux has it
	maxWord   = 512     // bytes of an id
	// pathSeparator separates paths in an argument. No path of a policy has it.
	pathSeparator = "\x01"
)

// Decode reads a policy that somebody else may have written. It refuses unknown
// fields, more than 1 MiB, and what Check refuses.
func Decode(r io.Reader) (Policy, error) {
	raw, err := io.ReadAll(io.LimitReader(r, maxPolicy+1))
	if err != nil {
		return Policy{}, fmt.Errorf("read the policy: %w", err)
	}
	if len(raw) > maxPolicy {
		return Policy{}, fmt.Errorf("read the policy: it has more than %d bytes", maxPolicy)
	}
	var p Policy
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(&p); err != nil {
		return Policy{}, fmt.Errorf("read the policy: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return Policy{}, errors.New("read the policy: something follows its end")
	}
	return p, p.Check()
}

// Check returns an error unless the policy is complete, and its method can enforce
// all of it. It looks at no file, and not at what the network list holds: that the
// helper command does, with a Proxy.
func (p Policy) Check() error {
	if p.Schema != schema {
		return fmt.Errorf("the policy has schema %d, and this middleman reads schema %d", p.Schema, schema)
	}
	if p.Level != Workspace && p.Level != Strict {
		return fmt.Errorf("the policy has level %q: a sandbox has workspace or strict", p.Level)
	}
	if p.Limits.Memory < 0 || p.Limits.Processes < 0 || p.Limits.Files < 0 {
		return fmt.Errorf("the policy has a limit below 0: %+v", p.Limits)
	}
	for _, check := range []func() error{p.checkPaths, p.checkPlaces, p.checkNetwork, p.checkMethod} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

func (p Policy) checkPaths() error {
	lists := map[string][]string{
		"dir": {p.Dir}, "writable": p.Writable, "hidden": p.Hidden, "show": p.Show,
		"read_only": p.ReadOnly, "temp": {p.Temp}, "temp_paths": p.TempPaths,
	}
	for _, b := range p.Binds {
		lists["binds"] = append(lists["binds"], b.From, b.To)
	}
	for name, path := range map[string]string{"network.log": p.Network.Log, "network.secrets": p.Network.Secrets} {
		if path != "" {
			lists[name] = []string{path}
		}
	}
	for name, list := range lists {
		if len(list) > maxPaths {
			return fmt.Errorf("the policy has %d paths in %s, and %d are the most", len(list), name, maxPaths)
		}
		for _, path := range list {
			if err := checkPath(path); err != nil {
				return fmt.Errorf("the policy has a bad path in %s: %w", name, err)
			}
		}
	}
	if len(p.Env) > maxPaths || slices.ContainsFunc(p.Env, func(v string) bool { return !strings.Contains(v, "=") || strings.Contains(v, "\x00") }) {
		return errors.New("the policy has a variable that is not NAME=value")
	}
	if len(p.Session) > maxWord || len(p.Workspace) > maxWord {
		return fmt.Errorf("the policy has an id of more than %d bytes", maxWord)
	}
	return nil
}

// checkPath returns an error unless path is absolute and clean.
func checkPath(path string) error {
	switch {
	case path == "":
		return errors.New("it is empty")
	case len(path) > maxPath:
		return fmt.Errorf("%.40q... has more than %d bytes", path, maxPath)
	case strings.ContainsAny(path, "\x00"+pathSeparator):
		return fmt.Errorf("%q has a control character in it", path)
	case !filepath.IsAbs(path):
		return fmt.Errorf("%q is not absolute", path)
	case filepath.Clean(path) != path:
		return fmt.Errorf("%q is not clean: write %q", path, filepath.Clean(path))
	}
	return nil
}

// checkPlaces refuses paths that would take the sandbox apart.
func (p Policy) checkPlaces() error {
	lists := map[string][]string{"writable": p.Writable, "hidden": p.Hidden, "temp_paths": p.TempPaths}
	for _, b := range p.Binds {
		lists["binds"] = append(lists["binds"], b.To)
	}
	for name, list := range lists {
		for _, path := range list {
			if path == "/" || Within(path, "/proc") || Within(path, "/sys") {
				return fmt.Errorf("the policy has %s in %s: the root, /proc and /sys are not for a policy to change", path, name)
			}
		}
	}
	// Who can write the directory above a path can put a link there while the
	// sandbox is made. In no session of the workspace can a program do that where the
	// policy covers the path by another bind.
	for _, b := range p.Binds {
		covered := slices.ContainsFunc(p.Binds, func(other Bind) bool { return Within(b.From, other.To) })
		for _, w := range p.Writable {
			if below(b.From, w) && !covered {
				return fmt.Errorf("the policy binds %s, which is below the writable %s: the program could put a link there", b.From, w)
			}
		}
		for _, other := range p.Binds {
			if other.Write && below(b.From, other.From) {
				return fmt.Errorf("the policy binds %s, which is below %s, bound writable: the program could put a link there", b.From, other.From)
			}
		}
	}
	return nil
}

func (p Policy) checkNetwork() error {
	n := p.Network
	switch {
	case p.Level == Strict && !n.Off && len(n.Allow) == 0:
		return errors.New("the policy has level strict and a network: strict has none")
	case n.Off && len(n.Allow) > 0:
		return errors.New("the policy has the network off, and a list of hosts")
	case len(n.Allow) == 0 && n.Secrets != "":
		return errors.New("the policy has secrets, and no list of hosts that they could be for")
	case len(n.Allow) > 0 && n.Log == "":
		return errors.New("the policy has a list of hosts, and no file for what it denies")
	}
	return nil
}

// checkMethod refuses what the method cannot enforce.
func (p Policy) checkMethod() error {
	switch p.Method {
	case Bubblewrap:
		return nil
	case Landlock, Seatbelt:
	default:
		return fmt.Errorf("the policy has the method %q, which is unknown", p.Method)
	}
	missing := ""
	switch {
	case len(p.Binds) > 0:
		missing = "show a directory at another path"
	case len(p.TempPaths) > 0:
		missing = "make a temporary directory private"
	case p.Limits.Processes > 0:
		missing = "limit processes without a control group"
	case p.Method == Seatbelt && len(p.Network.Allow) > 0:
		missing = "open the network to some hosts alone"
	case p.Method == Seatbelt:
	case p.Level == Strict:
		missing = "enforce the level strict"
	case p.Network.Off || len(p.Network.Allow) > 0:
		missing = "cut the network"
	case len(p.ReadOnly) > 0:
		missing = "protect " + p.ReadOnly[0] + " in a writable directory"
	default:
		for _, hidden := range p.Hidden {
			for _, w := range p.Writable {
				if Within(hidden, w) {
					return fmt.Errorf("%s cannot hide %s in the writable directory %s: use bubblewrap", p.Method, hidden, w)
				}
			}
		}
	}
	if missing != "" {
		return fmt.Errorf("%s cannot %s: use bubblewrap", p.Method, missing)
	}
	return nil
}

// Within reports whether path is dir or below it. Both are clean and absolute.
func Within(path, dir string) bool { return path == dir || below(path, dir) }

// below reports whether path is below dir.
func below(path, dir string) bool {
	if dir == "/" {
		return path != "/"
	}
	return len(path) > len(dir) && path[len(dir)] == '/' && path[:len(dir)] == dir
}

// Top returns the entry of dir that path is, or that leads to it: path is below dir. As long
// as that is read-only, or a mount, nothing between them can be renamed or replaced.
func Top(path, dir string) string {
	first, _, _ := strings.Cut(strings.TrimPrefix(path[len(dir):], string(filepath.Separator)), string(filepath.Separator))
	return filepath.Join(dir, first)
}
