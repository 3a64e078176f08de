package sandbox

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"middleman/internal/private"
)

// How a program starts in a sandbox:
//
//  1. The server writes a policy to a private file, and starts
//     middleman sandbox-exec --policy FILE --digest HEX -- PROGRAM ARGS...
//  2. Main reads the policy, and checks it against the digest and its paths against
//     the file system. It sets limits, and lets no descriptor but the standard ones
//     reach the program.
//  3. Under bubblewrap it executes bwrap, which makes the namespaces and executes
//     middleman sandbox-inner in them; that executes the program. bwrap stays, and
//     its first process in the namespaces keeps a lock for as long as something runs
//     there, see package life. bwrap
//     ends as the program does: with its exit status, or with 128 and the number of
//     the signal that ended it.
//     With a network list there is a proxy beside it, see package egress.
//  4. Under Landlock it restricts itself and executes the program. No process of
//     ours stays.

// Names of the helper commands.
const (
	Command      = "sandbox-exec"
	innerCommand = "sandbox-inner"
)

// Exit statuses of a program that was not started, as shells have them.
const (
	exitRefused  = 125 // the sandbox could not be made
	exitNotRun   = 126 // the program is there and cannot be executed
	exitNotFound = 127
)

// IsHelper reports whether the arguments of this process are those of a helper
// command of this package.
func IsHelper(args []string) bool {
	return len(args) > 0 && (args[0] == Command || args[0] == innerCommand)
}

// Proxy enforces network lists; it is egress.Proxy. That is passed in, so that a
// sandbox without such a list starts before the packages of the network are
// initialised.
type Proxy interface {
	// Check returns an error unless Network.Allow and Network.Masked can be read.
	Check(allow, masked []string) error
	// Start starts the proxy of a sandbox, which ends when nobody has socket open any
	// more. args are for bubblewrap, which has to inherit some descriptors: inherit
	// lets it. socket is also for Join.
	Start(allow []string, log, secrets string) (args []string, socket int, inherit func() error, err error)
	// Join connects the sandbox that this process is in with its proxy.
	Join(socket int) error
}

// errProxy: what was asked for has a network list, and there is no Proxy.
var errProxy = errors.New("a network list needs a proxy")

// Main runs a helper command. It returns only if no program was started, and has
// printed why. Or done is false: a proxy is needed, which is nil. Then nothing was
// done.
func Main(args []string, proxy Proxy) (exit int, done bool) {
	run := runOuter
	if args[0] == innerCommand {
		run = runInner
	}
	err := run(args[1:], proxy)
	if proxy == nil && errors.Is(err, errProxy) {
		return 0, false
	}
	fmt.Fprintf(os.Stderr, "middleman %s: %v\n", Command, err)
	var e *startError
	if errors.As(err, &e) {
		return e.exit, true
	}
	return exitRefused, true
}

// startError says that the sandbox was made and the program did not start in it.
type startError struct {
	exit int
	err  error
}

func (e *startError) Error() string { return e.err.Error() }
func (e *startError) Unwrap() error { return e.err }

// runOuter is sandbox-exec.
func runOuter(args []string, proxy Proxy) error {
	flags := flag.NewFlagSet(Command, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	file := flags.String("policy", "", "")
	digest := flags.String("digest", "", "")
	dies := flags.Bool("die-with-parent", false, "")
	state := flags.String("state", "", "")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *file == "" || *digest == "" || flags.NArg() == 0 {
		return fmt.Errorf("use %s --policy FILE --digest HEX -- PROGRAM [ARG]", Command)
	}
	p, err := readPolicy(*file, *digest)
	if err != nil {
		return err
	}
	if n := p.Network; len(n.Allow) > 0 || len(n.Masked) > 0 {
		if proxy == nil {
			return errProxy
		}
		if err := proxy.Check(n.Allow, n.Masked); err != nil {
			return fmt.Errorf("the policy has a bad network: %w", err)
		}
	}
	p.dies, p.state = *dies, *state
	return start(p, proxy, flags.Args())
}

// readPolicy reads a policy from a file of this user alone. It must have the digest.
func readPolicy(path, digest string) (Policy, error) {
	f, err := private.Open(path)
	if err != nil {
		return Policy{}, fmt.Errorf("read the policy: %w", err)
	}
	defer f.Close()
	p, err := Decode(f)
	if err != nil {
		return Policy{}, err
	}
	if got := p.Digest(); got != digest {
		return Policy{}, fmt.Errorf("the policy in %s has digest %s, and the session was started with %s: start the session again", path, got, digest)
	}
	return p, nil
}

// unset are variables that lead to processes outside of the sandbox: agents for
// keys, buses, displays, servers of terminals and editors. Those that end with an
// asterisk are beginnings of names.
var unset = []string{
	"SSH_AUTH_SOCK", "SSH_AGENT_PID", "SSH_ASKPASS", "GIT_ASKPASS", "SUDO_ASKPASS", "GPG_AGENT_INFO", "GNOME_KEYRING_CONTROL", "KRB5CCNAME",
	"DBUS_*", "XDG_RUNTIME_DIR", "NOTIFY_SOCKET", "LISTEN_*", "JOURNAL_STREAM", "PULSE_SERVER",
	"DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "SWAYSOCK", "I3SOCK", "HYPRLAND_INSTANCE_SIGNATURE",
	"TMUX", "TMUX_PANE", "STY", "KITTY_LISTEN_ON", "WEZTERM_UNIX_SOCKET", "ALACRITTY_SOCKET",
	"NVIM", "NVIM_LISTEN_ADDRESS", "EMACS_SOCKET_NAME", "VSCODE_*", "DOCKER_HOST", "CONTAINER_HOST",
}

// loaders are variables that name code or files to whatever program has them, before it
// does anything: those of loaders, C libraries, shells and the runtime of Go. The
// session's owner, tmux and sandbox-exec run outside of the sandbox, and a worker's
// variables are those that its parent in the sandbox names.
var loaders = []string{
	"LD_*", "DYLD_*", "GLIBC_TUNABLES", "MALLOC_*", "GCONV_PATH", "LOCPATH", "NLSPATH", "HOSTALIASES", "LOCALDOMAIN", "RES_OPTIONS",
	"RESOLV_*", "GODEBUG", "GOTRACEBACK", "GOCOVERDIR", "BASH_ENV", "ENV", "BASH_FUNC_*", "SHELLOPTS", "BASHOPTS", "PS4",
}

// ForInside reports whether a variable must not reach a process outside of the sandbox:
// it belongs into Policy.Env.
func ForInside(name string) bool { return matches(name, loaders) }

// matches reports whether name is in the list, where what ends with an asterisk is a
// beginning.
func matches(name string, list []string) bool {
	return slices.ContainsFunc(list, func(one string) bool {
		prefix, many := strings.CutSuffix(one, "*")
		return many && strings.HasPrefix(name, prefix) || name == one
	})
}

// environ returns the variables of a program in a sandbox.
func environ(all []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return matches(name, unset)
	})
}
