package launch

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/pflag"

	"middleman/cmd/middleman/internal/cli"
	"middleman/internal/api"
	"middleman/internal/environ"
	"middleman/terminal"
)

// envFlags say what environment a session gets.
type envFlags struct {
	named []string
	clean bool
}

func (f *envFlags) add(flags *pflag.FlagSet) {
	flags.StringArrayVar(&f.named, "env", nil, "set a variable, `NAME[=VALUE]`; without a value it is this shell's (can be repeated)")
	flags.BoolVar(&f.clean, "clean-env", false, "forward only the variables of the allow-list from this shell, and --env")
}

// request adds this process's environment to a request, as far as settings and
// flags let it.
func (f *envFlags) request(c commands, in *api.NewSession) error {
	for _, given := range f.named {
		entry, err := namedVariable(given)
		if err != nil {
			return err
		}
		in.Env = append(in.Env, entry)
	}
	in.CleanEnv = f.clean
	if c.Runtime != "" {
		return nil // this shell's environment stays on this machine
	}
	// The server lets a profile's program have what its profile names.
	passed, err := callerEnv(c.CLI, f.clean && in.Profile == "")
	if err != nil {
		return err
	}
	in.CallerEnv = passed
	in.AgentLink = c.Config.Env.SSHAgentLink && !f.clean &&
		!slices.ContainsFunc(in.Env, func(entry string) bool { return strings.HasPrefix(entry, terminal.AgentVariable+"=") })
	return nil
}

// namedVariable returns the NAME=value that --env names.
func namedVariable(given string) (string, error) {
	name, value, hasValue := strings.Cut(given, "=")
	if !environ.IsName(name) {
		return "", cli.Usagef("--env %q: it must be NAME or NAME=VALUE", name)
	}
	if !hasValue {
		if value, hasValue = os.LookupEnv(name); !hasValue {
			return "", cli.Usagef("--env %s: this shell exports no variable of that name; --env %s=VALUE sets one", name, name)
		}
	}
	if !utf8.ValidString(value) {
		return "", cli.Usagef("--env %s: its value is not UTF-8, which only forwarding keeps: leave the flag out, without --clean-env", name)
	}
	return name + "=" + value, nil
}

// callerEnv returns what the settings let pass of this process's environment. If
// clean, only what is on the allow-list passes.
func callerEnv(c *cli.CLI, clean bool) ([][]byte, error) {
	rules := environ.Rules{Forward: c.Config.Env.Forward, Deny: c.Config.Env.Deny}
	passed, skipped := rules.Pass(os.Environ())
	if clean {
		passed = environ.Allowed(passed)
	}
	if err := environ.Check(passed); err != nil {
		return nil, fmt.Errorf("forward this shell's environment: %w", err)
	}
	if skipped > 0 {
		fmt.Fprintf(c.Errs, "middleman: note: %d entries of this shell's environment have no name and are left out\n", skipped)
	}
	entries := make([][]byte, len(passed))
	for i, entry := range passed {
		entries[i] = []byte(entry)
	}
	return entries, nil
}
