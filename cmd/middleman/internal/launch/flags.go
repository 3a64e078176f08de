package launch

import (
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"middleman/cmd/middleman/internal/cli"
	"middleman/cmd/middleman/internal/sessions"
	"middleman/cmd/middleman/internal/viewer"
	"middleman/internal/agent"
	"middleman/internal/api"
	"middleman/internal/config"
	"middleman/internal/egress"
	"middleman/internal/sandbox"
	"middleman/terminal"
)

// sessionFlags are the flags of every command that starts a session.
type sessionFlags struct {
	detached bool
	profile  string
	backend  string
	sandbox  sandboxFlag
	network  []string
	// capabilities narrow what the profile of a bundle asks for.
	capabilities []string
	cols, rows   uint16
	keep         string
	clipboard    terminal.Clipboard
	env          envFlags
}

// add adds all flags.
func (f *sessionFlags) add(flags *pflag.FlagSet) {
	flags.StringVarP(&f.profile, "profile", "p", "", "start the program of profile `NAME`, or of a bundle's, ID/NAME or ID/NAME@DIGEST; what follows -- is its first prompt (`middleman profile list`)")
	flags.StringArrayVar(&f.capabilities, "capability", nil, "of the optional capabilities of a bundle's profile, request only `REF`, such as mount-grant:go-cache; can be repeated (default: all)")
	f.addOthers(flags)
}

// addOthers adds all flags but --profile.
func (f *sessionFlags) addOthers(flags *pflag.FlagSet) {
	flags.BoolVarP(&f.detached, "detach", "d", false, "do not attach; print only the name")
	flags.StringVar(&f.backend, "backend", "", "what hosts the terminal: auto, tmux or pty-owner")
	f.sandbox.add(flags, "what the session may touch")
	flags.StringArrayVar(&f.network, "network", nil, "in its sandbox, let the session reach `HOST` and no others: NAME, NAME:PORT or *.NAME; can be repeated (default: what the profile or sandbox.network say)")
	flags.StringVar(&f.keep, "keep-output", "", "keep at least `SIZE` of output, such as 64MB, or 0 for all (default: terminal.journal_bytes of config.toml)")
	sessions.ClipboardFlag(flags, &f.clipboard, "the attached viewer's clipboard", "terminal.clipboard of config.toml")
	flags.Uint16Var(&f.cols, "cols", 0, "columns (default: those of this terminal)")
	flags.Uint16Var(&f.rows, "rows", 0, "rows (default: those of this terminal)")
	f.env.add(flags)
}

// request returns the request for the server.
func (f *sessionFlags) request(c commands, command []string) (*api.NewSession, error) {
	if err := f.sandbox.check(); err != nil {
		return nil, err
	}
	if _, err := egress.Parse(f.network); err != nil {
		return nil, cli.Usagef("--network: %w", err)
	}
	for _, argument := range command {
		if !utf8.ValidString(argument) {
			return nil, cli.Usagef("argument %q is not valid UTF-8, so it cannot be sent to the server", argument)
		}
	}
	switch f.backend {
	case "", "auto", "tmux", "pty-owner":
	default:
		return nil, cli.Usagef("backend %q is not auto, tmux or pty-owner", f.backend)
	}
	if err := sessions.CheckClipboard(f.clipboard); err != nil {
		return nil, err
	}
	size := viewer.Size(c.In, c.BytesOut)
	if f.cols != 0 {
		size.Cols = f.cols
	}
	if f.rows != 0 {
		size.Rows = f.rows
	}
	if (size.Cols == 0) != (size.Rows == 0) {
		return nil, cli.Usagef("give both --cols and --rows, or neither: this command has no terminal to take the other from")
	}
	in := &api.NewSession{Command: command, Profile: f.profile, Backend: f.backend, Sandbox: sandbox.Level(f.sandbox), Network: f.network, Capabilities: f.capabilities, Size: size, Clipboard: f.clipboard}
	if f.profile != "" && f.profile != agent.Shell {
		in.Command, in.Prompt = nil, strings.Join(command, " ")
	}
	if f.keep != "" {
		n, err := config.ParseBytes(f.keep)
		if err != nil {
			return nil, cli.Usagef("--keep-output: %w", err)
		}
		in.KeepOutput = &n
	}
	return in, f.env.request(c, in)
}

// sandboxFlag is a level of the sandbox, "" for what profile and settings say.
type sandboxFlag string

func (f *sandboxFlag) add(flags *pflag.FlagSet, what string) {
	flags.StringVar((*string)(f), "sandbox", "", what+": none, workspace (its workspace alone) or strict (and no network); `LEVEL` defaults to what the profile or sandbox.level say (`middleman help sandbox`)")
}

func (f sandboxFlag) check() error {
	if !sandbox.Level(f).Known() {
		return cli.Usagef("sandbox level %q is not none, workspace or strict", string(f))
	}
	return nil
}

// checkAttach returns an error, before anything is made, if attaching would
// fail.
func (f *sessionFlags) checkAttach(c commands) error {
	if f.detached {
		c.AttachesNot()
		return nil
	}
	if c.JSON {
		return cli.Usagef("--json needs -d: an attached session uses standard output itself")
	}
	return sessions.CheckTerminal(c.CLI)
}

// splitCommand separates the arguments before "--" from the command after it.
func splitCommand(cmd *cobra.Command, given []string) (names, command []string) {
	if dash := cmd.ArgsLenAtDash(); dash >= 0 {
		return given[:dash], given[dash:]
	}
	return given, nil
}
