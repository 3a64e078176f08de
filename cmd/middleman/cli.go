package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"middleman/internal/api"
	"middleman/internal/client"
	"middleman/internal/config"
	"middleman/internal/plaintext"
	"middleman/ptyowner"
	"middleman/terminal"
	"middleman/terminal/host"
	"middleman/tmux"
)

// cli is one run of the command line. Results go to out, all else to errs: both
// spell out what would steer the terminal of who reads it. bytesOut and
// bytesErrs are the same without that, for what is asked for as it is.
type cli struct {
	in        *os.File
	out       *plaintext.Writer
	errs      *plaintext.Writer
	bytesOut  *os.File
	bytesErrs io.Writer
	json      bool // --json

	dirs   config.Dirs
	config config.Config
	// uncatch gives interrupts their usual effect again.
	uncatch func()
}

func newCLI(in, out *os.File, errs io.Writer) *cli {
	return &cli{in: in, out: plaintext.NewWriter(out), errs: plaintext.NewWriter(errs), bytesOut: out, bytesErrs: errs}
}

// run runs one command line and returns its exit code.
func (c *cli) run(args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second interrupt ends at once
	c.uncatch = func() { signal.Reset(os.Interrupt, syscall.SIGTERM) }
	root := c.root()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	code := exitCode(err)
	if _, own := errors.AsType[*programExit](err); err != nil && !own {
		fmt.Fprintln(c.errs, "middleman:", message(err))
	}
	if err := errors.Join(c.out.Flush(), c.errs.Flush()); err != nil && code == 0 {
		return 1
	}
	return code
}

// message is err on one line, with the flags that help where some do.
func message(err error) string {
	text := strings.Join(strings.FieldsFunc(terminal.Plain(err.Error()), func(r rune) bool { return r == '\n' || r == '\r' }), "; ")
	if errors.Is(err, context.Canceled) {
		return "interrupted"
	}
	if p, ok := errors.AsType[*api.Problem](err); ok {
		switch p.Code {
		case api.CodeNotRepository:
			return text + " (use --mode directory for an empty directory, or --mode in-place for this one)"
		case api.CodeTeardown:
			return text + "; it was not deleted: rm --skip-teardown goes without"
		case api.CodeWriterBusy:
			return text + " (attach --takeover, or watch)"
		}
	}
	return text
}

func (c *cli) root() *cobra.Command {
	root := &cobra.Command{
		Use:               "middleman",
		Short:             "Workspaces whose terminals outlive everything but their own program",
		SilenceUsage:      true,
		SilenceErrors:     true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
		Args:              cobra.ArbitraryArgs,
		PersistentPreRunE: func(*cobra.Command, []string) error { return c.prepare() },
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Help()
			}
			if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
				return usagef("unknown command %q; did you mean %s?", args[0], strings.Join(near, " or "))
			}
			return usagef("unknown command %q; `middleman help` lists them", args[0])
		},
	}
	root.SuggestionsMinimumDistance = 2
	root.SetOut(c.out)
	root.SetErr(c.errs)
	root.AddCommand(c.trustCommand())
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return &usageError{plainFlag(err)} })
	root.PersistentFlags().BoolVar(&c.json, "json", false, "print data as JSON")
	root.AddCommand(
		c.serveCommand(), c.newCommand(), c.spawnCommand(), c.runCommand(), c.lsCommand(), c.showCommand(),
		c.attachCommand(), c.watchCommand(), c.sendCommand(), c.captureCommand(), c.logsCommand(), c.searchCommand(), c.exportCommand(),
		c.waitCommand(), c.stopCommand(), c.rmCommand(), c.restoreCommand(), c.retryCommand(), c.openCommand(), c.loginCommand(), c.doctorCommand(), c.serviceCommand(),
		c.diffCommand(),
		c.tmuxCommand(), c.upgradeCommand(), c.versionCommand(), c.completionCommand(),
	)
	root.AddCommand(c.auditCommand(), c.tokenCommand())
	root.AddCommand(c.pruneCommand(), c.importCommand(), c.repairCommand())
	for _, cmd := range root.Commands() {
		if cmd.ValidArgsFunction != nil {
			continue
		}
		if strings.Contains(cmd.Use, " TARGET") || strings.Contains(cmd.Use, " WORKSPACE") {
			cmd.ValidArgsFunction = c.completeTarget
		}
	}
	return root
}

// plainFlag says of a number that a flag does not take what it takes, instead
// of what the parser calls it.
func plainFlag(err error) error {
	invalid, ok := errors.AsType[*pflag.InvalidValueError](err)
	if !ok {
		return err
	}
	takes := ""
	switch kind := invalid.GetFlag().Value.Type(); kind {
	case "uint64":
		takes = "a whole number, 0 or more"
	case "uint16":
		takes = "a whole number from 0 to 65535"
	case "duration":
		takes = "a duration such as 30s or 5m"
	default:
		return err
	}
	return fmt.Errorf("--%s is %q: it must be %s", invalid.GetFlag().Name, invalid.GetValue(), takes)
}

// prepare finds directories and settings; it makes nothing. What another user
// could have written is refused before any of it is read.
func (c *cli) prepare() (err error) {
	if c.dirs, err = config.FindDirs(); err != nil {
		return err
	}
	if err := c.dirs.Check(); err != nil {
		return err
	}
	notes, err := c.dirs.Tighten()
	for _, note := range notes {
		fmt.Fprintln(c.errs, "middleman: note:", note)
	}
	if err != nil {
		return err
	}
	c.config, err = config.Load(c.dirs.File())
	return err
}

// args wraps a check of the arguments so that what it refuses is a usage error.
func args(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, given []string) error {
		if err := check(cmd, given); err != nil {
			return usagef("%w; usage: %s", err, cmd.UseLine())
		}
		return nil
	}
}

// print prints a command's result: with --json as printJSON does, else text
// prints it in words.
func (c *cli) print(result any, text func() error) error {
	if c.json {
		return c.printJSON(result)
	}
	return text()
}

// printJSON prints one JSON object: the schema's version, then the fields of
// result, which is a struct or a map.
func (c *cli) printJSON(result any) error {
	var fields, object bytes.Buffer
	enc := json.NewEncoder(&fields)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(result); err != nil {
		return err
	}
	all := fmt.Appendf(nil, `{"schema":%d`, api.SchemaVersion)
	if rest := fields.Bytes()[1:]; rest[0] == '}' {
		all = append(all, rest...)
	} else {
		all = append(append(all, ','), rest...)
	}
	if err := json.Indent(&object, all, "", "  "); err != nil {
		return err
	}
	out := plaintext.NewJSONWriter(c.bytesOut)
	_, err := out.Write(object.Bytes())
	return errors.Join(err, out.Flush())
}

// server returns a client of the server, started in the background where none
// runs.
func (c *cli) server(ctx context.Context) (*client.Client, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find our own executable: %w", err)
	}
	launch := exec.CommandContext(ctx, exe, "serve", "--background")
	return client.Ensure(ctx, c.dirs, launch)
}

// backends are all backends, in the order that "auto" tries them.
func (c *cli) backends() []terminal.Backend {
	return []terminal.Backend{c.owners(c.tmuxServer()), c.owners(nil)}
}

// tmuxServer is the private tmux server.
func (c *cli) tmuxServer() *tmux.Server {
	return tmux.New(tmux.Options{
		Sessions: c.dirs.Sessions(), Runtime: c.dirs.Runtime, Config: c.dirs.Config,
		HistoryLines: c.config.Terminal.HistoryLines,
	})
}

// owners is the backend of sessions whose owners have this host; nil is a PTY
// of the owner's own.
func (c *cli) owners(h host.Provider) *ptyowner.Backend {
	return ptyowner.New(ptyowner.Options{
		Data: c.dirs.Data, Sessions: c.dirs.Sessions(), Runtime: c.dirs.Runtime, Build: buildVersion(), Host: h,
	})
}

// backend returns the backend that a session was recorded with.
func (c *cli) backend(name string) (terminal.Backend, error) {
	for _, b := range c.backends() {
		if b.Name() == name {
			return b, nil
		}
	}
	return nil, fmt.Errorf("this version knows no backend %q", name)
}
