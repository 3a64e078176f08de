package bundle

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"middleman/internal/egress"
)

// Kinds of references.
const (
	Secret     = "secret-ref"
	Mount      = "mount-grant"
	Network    = "network-policy"
	Shell      = "shell-policy"
	Git        = "git-policy"
	Capability = "capability-grant"
)

// Kinds are all kinds of references.
var Kinds = []string{Secret, Mount, Network, Shell, Git, Capability}

// short are the short forms of kinds.
var short = map[string]string{
	"secret": Secret, "vault": Secret, "keyring": Secret,
	"mount": Mount, "volume": Mount,
	"network": Network, "net": Network,
	"shell": Shell, "git": Git,
	"capability": Capability, "cap": Capability,
}

// Names with a meaning of their own.
const (
	NetworkOff      = "off"  // no network at all
	NetworkOpen     = "open" // every host
	ShellSandboxed  = "sandboxed"
	GitCommit       = "commit"
	GitReadOnly     = "read-only"
	CapabilityLogin = "login" // a copy of the agent's login and settings
	// CapabilityApprovals lets middleman answer what the program asks for permissions.
	CapabilityApprovals = "approvals"
	// CapabilitySpawn lets the program start workers with the profiles of its spawn.
	CapabilitySpawn = "spawn"
	// CapabilityEnv and the name of a variable pass that variable of the host.
	CapabilityEnv = "env."
)

// Ref is a reference. Its text is KIND:NAME.
type Ref struct{ Kind, Name string }

func (r Ref) String() string { return r.Kind + ":" + r.Name }

var validName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,63}$`) })

// ParseRef reads a reference, of which a short form of the kind is allowed. The error
// is ErrInvalid or ErrUnsupported.
func ParseRef(text string) (r Ref, err error) {
	kind, name, ok := strings.Cut(text, ":")
	if long, is := short[kind]; is {
		kind = long
	}
	r = Ref{kind, name}
	switch {
	case !ok || !slices.Contains(Kinds, kind):
		return Ref{}, invalid("", "must be KIND:NAME, with one of these kinds: %s", strings.Join(Kinds, ", "))
	case name == "":
		return Ref{}, invalid("", "has no name after %s:", kind)
	}
	return r, r.check()
}

func (r Ref) check() error {
	switch r.Kind {
	case Network:
		if r.Name == NetworkOff || r.Name == NetworkOpen {
			return nil
		}
		if _, err := egress.Parse([]string{r.Name}); err != nil {
			return invalid("", "must name %s, %s or a host: %v", NetworkOff, NetworkOpen, err)
		}
		if why := hostile(r.Name); why != "" {
			return invalid("", "%s", why)
		}
		return nil
	case Capability:
		if name, is := strings.CutPrefix(r.Name, CapabilityEnv); is {
			return checkVariable("", name)
		}
	}
	if !isName(r.Name) {
		return invalid("", "the name after %s: must consist of lower-case letters, digits, dots, dashes and underscores", r.Kind)
	}
	if why := hostile(r.Name); why != "" {
		return invalid("", "%s", why)
	}
	if names := supported[r.Kind]; names != nil && !slices.Contains(names, r.Name) {
		return Errorf(ErrUnsupported, "%s is not supported: no sandbox of this version enforces it; these are: %s", r, strings.Join(names, ", "))
	}
	return nil
}

// supported are the names of the kinds whose names this version must know.
var supported = map[string][]string{
	Shell:      {ShellSandboxed},
	Git:        {GitCommit, GitReadOnly},
	Capability: {CapabilityLogin, CapabilityApprovals, CapabilitySpawn, CapabilityEnv + "NAME"},
}

func isName(name string) bool {
	return validName().MatchString(name) && !strings.Contains(name, "..")
}

// ValidID reports whether id can be that of a bundle.
func ValidID(id string) bool { return isName(id) }

var variable = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,127}$`) })

// checkVariable refuses what is no name of a variable, and the names that middleman and
// the loader of programs give a meaning.
func checkVariable(field, name string) error {
	switch {
	case !variable().MatchString(name):
		return invalid(field, "must be the name of an environment variable")
	case strings.HasPrefix(name, "MIDDLEMAN_"), strings.HasPrefix(name, "LD_"), strings.HasPrefix(name, "DYLD_"),
		slices.Contains([]string{"TERM", "COLORTERM", "PATH", "HOME", "SHELL", "TMPDIR", "IFS", "ENV", "BASH_ENV"}, name):
		return invalid(field, "%s cannot be set or passed by a bundle", name)
	}
	return nil
}
