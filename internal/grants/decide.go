package grants

import (
	"slices"
	"strings"

	"middleman/internal/bundle"
	"middleman/internal/sandbox"
)

// Names that stand for a rule in a grant.
const (
	// builtIn decided: the sandbox of that level gives as much to any program.
	builtIn = "built-in"
	// noRule of the policy matches.
	noRule = "no rule"
)

// Request is what a launch asks for.
type Request struct {
	ID    string // of the bundle
	Asked []bundle.Declaration
	Level sandbox.Level
	// Hosts is the network list that a session has here anyway, nil for none.
	Hosts []string
}

// Given is what a host gives to a launch. The level is never weaker than that of the
// Request.
type Given struct {
	Grants []bundle.Grant
	Level  sandbox.Level
	Mounts []Mount
	// Hosts is the network list: nil for none. With Network, the profile has asked for
	// it, so that the settings do not count.
	Network bool
	Hosts   []string
	// Secrets has the secrets by the variable that gets each.
	Secrets map[string]string
	Env     []string // variables of the host
	// ReadOnlyGit keeps the program from commits.
	ReadOnlyGit, Login, Approvals, Spawn bool
}

// Mount is a directory of the host.
type Mount struct {
	Name, Path string
	Write      bool
}

// variable returns the environment variable that has the path of the mount.
func (m Mount) variable() string {
	return "MIDDLEMAN_MOUNT_" + strings.ToUpper(strings.NewReplacer("-", "_", ".", "_").Replace(m.Name))
}

// verdict is the decision about one declaration.
type verdict struct {
	result, given, reason string
	// hard refuses the launch even if the declaration is optional: the program would
	// have what it is refused.
	hard bool
}

func granted() verdict               { return verdict{result: bundle.Granted} }
func narrowed(given string) verdict  { return verdict{result: bundle.Narrowed, given: given} }
func refused(reason string) verdict  { return verdict{result: bundle.Refused, reason: reason} }
func unenforced(what string) verdict { return verdict{bundle.Refused, "", what, true} }

const (
	noSandbox  = "a session without a sandbox cannot be kept to it: use --sandbox workspace or strict"
	notAllowed = "no rule of policy.toml allows it"
	denied     = "policy.toml denies it"
)

// Decide decides each declaration of a launch. The error is ErrRefused if one is refused
// that the program needs, or that this host could not keep it from. Given has all grants
// then too.
func Decide(p Policy, r Request) (Given, error) {
	g := Given{Level: r.Level, Secrets: map[string]string{}, Grants: []bundle.Grant{}}
	if g.Level == "" {
		g.Level = sandbox.None
	}
	var failed error
	for _, d := range r.Asked {
		rule, action, name := p.rule(r.ID, d.Ref), "", noRule
		if rule != nil {
			action, name = rule.Action, rule.Name
		}
		v := g.decide(d, rule, action, r)
		if rule == nil && v.result != bundle.Refused {
			name = builtIn
		}
		g.Grants = append(g.Grants, bundle.Grant{
			Asked: d.Ref.String(), Write: d.Write, Optional: d.Optional, Result: v.result, Given: v.given, Rule: name, Reason: v.reason,
		})
		if failed == nil && v.result == bundle.Refused && (v.hard || !d.Optional) {
			failed = refusal(d, v, rule)
		}
	}
	g.settleNetwork()
	return g, failed
}

// refusal is the error of a launch that needs what it is refused.
func refusal(d bundle.Declaration, v verdict, rule *Rule) error {
	text := v.reason
	if rule != nil {
		text += " (rule " + rule.Name + ")"
	}
	return &bundle.Error{Kind: bundle.ErrRefused, Field: d.Ref.String(), Text: text}
}

// settleNetwork makes one network of the decisions: none at all wins over the whole, and
// that over a list. Where a profile gets none of the hosts that it asks for, it gets no
// network.
func (g *Given) settleNetwork() {
	gave := func(name string) bool {
		return slices.ContainsFunc(g.Grants, func(grant bundle.Grant) bool {
			return grant.Asked == bundle.Network+":"+name && grant.Result == bundle.Granted
		})
	}
	switch {
	case gave(bundle.NetworkOff):
		g.Network, g.Hosts, g.Level = true, nil, sandbox.Strict
	case gave(bundle.NetworkOpen):
		g.Hosts = nil
	case g.Network && len(g.Hosts) == 0:
		g.Level = sandbox.Strict
	}
}

func (g *Given) decide(d bundle.Declaration, rule *Rule, action string, r Request) verdict {
	open := !sandbox.None.Weaker(r.Level)
	switch d.Ref.Kind {
	case bundle.Secret:
		v := allowed(action)
		if v.result == bundle.Granted {
			g.Secrets[d.Env] = d.Ref.Name
		}
		return v
	case bundle.Mount:
		return g.mount(d, rule, action, open)
	case bundle.Network:
		return g.network(d.Ref.Name, rule, action, r)
	case bundle.Shell:
		switch {
		case open:
			return unenforced(noSandbox)
		case action == deny:
			return unenforced("a program cannot be kept from running others")
		}
		return granted()
	case bundle.Git:
		return g.git(d.Ref.Name, action, open)
	}
	return g.capability(d.Ref.Name, action, open)
}

// allowed decides what only a rule gives, and gives whole.
func allowed(action string) verdict {
	switch action {
	case allow:
		return granted()
	case deny:
		return refused(denied)
	}
	return refused(notAllowed)
}

func (g *Given) mount(d bundle.Declaration, rule *Rule, action string, open bool) verdict {
	v := allowed(action)
	if action == narrow {
		if v = granted(); d.Write {
			v = narrowed("read-only")
		}
	}
	if open && v.result != bundle.Granted {
		return unenforced(noSandbox)
	}
	if v.result != bundle.Refused {
		g.Mounts = append(g.Mounts, Mount{d.Ref.Name, rule.Path, d.Write && v.result == bundle.Granted})
	}
	return v
}

// network decides about the whole network, none of it, or one host.
func (g *Given) network(name string, rule *Rule, action string, r Request) verdict {
	open := !sandbox.None.Weaker(r.Level)
	isOpen := name == bundle.NetworkOpen
	anyway := r.Level == sandbox.Workspace && len(r.Hosts) == 0 || slices.Contains(r.Hosts, name) // any session has it here
	switch {
	case open && isOpen && (action == "" || action == allow):
		return granted()
	case open:
		return unenforced(noSandbox)
	case name == bundle.NetworkOff && action == deny:
		return refused(denied)
	case name == bundle.NetworkOff:
		return granted()
	}
	g.Network = true
	switch {
	case action == deny:
		return refused(denied)
	case action == narrow:
		return g.narrowHosts(name, rule.Hosts)
	case isOpen && r.Level == sandbox.Strict:
		g.addHosts(r.Hosts...)
		return refused("the level strict has no open network")
	case action == "" && !anyway && isOpen:
		g.addHosts(r.Hosts...)
		return refused(notAllowed)
	case action == "" && !anyway:
		return refused(notAllowed)
	case !isOpen:
		g.addHosts(name)
	}
	return granted()
}

// narrowHosts gives those hosts of a rule that are among what was asked.
func (g *Given) narrowHosts(asked string, hosts []string) verdict {
	given := slices.DeleteFunc(slices.Clone(hosts), func(host string) bool { return !covers(asked, host) })
	switch {
	case len(given) == 0:
		return refused("policy.toml gives other hosts alone")
	case slices.Equal(given, []string{asked}):
		g.addHosts(given...)
		return granted()
	}
	g.addHosts(given...)
	return narrowed(strings.Join(given, ", "))
}

func (g *Given) addHosts(hosts ...string) {
	for _, host := range hosts {
		if !slices.Contains(g.Hosts, host) {
			g.Hosts = append(g.Hosts, host)
		}
	}
}

// covers reports whether the entry asked of a network list means host too.
func covers(asked, host string) bool {
	if asked == bundle.NetworkOpen || asked == host {
		return true
	}
	if strings.Contains(asked+host, " ") { // private addresses are only meant word by word
		return false
	}
	name, port := splitPort(asked)
	hostName, hostPort := splitPort(host)
	below := strings.HasPrefix(name, "*.") && strings.HasSuffix(hostName, name[1:])
	return (name == hostName || below) && (port == hostPort || port == "" && (hostPort == "80" || hostPort == "443"))
}

// splitPort returns the host of an entry in small letters, and its port, "" for none.
func splitPort(entry string) (host, port string) {
	entry = strings.ToLower(entry)
	if i := strings.LastIndexByte(entry, ':'); i > strings.LastIndexByte(entry, ']') {
		return entry[:i], entry[i+1:]
	}
	return entry, ""
}

func (g *Given) git(name, action string, open bool) verdict {
	switch {
	case open && (name != bundle.GitCommit || action == deny || action == narrow):
		return unenforced(noSandbox)
	case name == bundle.GitReadOnly && action == deny:
		return unenforced("a program cannot be kept from reading its repository")
	case name == bundle.GitReadOnly:
		g.ReadOnlyGit = true
	case action == deny:
		g.ReadOnlyGit = true
		return refused(denied)
	case action == narrow:
		g.ReadOnlyGit = true
		return narrowed(bundle.GitReadOnly)
	}
	return granted()
}

func (g *Given) capability(name, action string, open bool) verdict {
	v := allowed(action)
	variable, isVariable := strings.CutPrefix(name, bundle.CapabilityEnv)
	switch given := v.result == bundle.Granted; {
	case isVariable:
		if given {
			g.Env = append(g.Env, variable)
		}
	case name == bundle.CapabilityLogin:
		if g.Login = given; open && !given {
			return unenforced(noSandbox)
		}
	case name == bundle.CapabilityApprovals:
		g.Approvals = given
	case name == bundle.CapabilitySpawn:
		g.Spawn = given
	}
	return v
}
