// Package cli holds what all commands share: output as text or JSON, errors and
// their exit codes, flags, settings and directories, progress, and access to
// the server and the backends. It knows no command.
package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"middleman/cmd/middleman/internal/build"
	"middleman/cmd/middleman/internal/viewer"
	"middleman/internal/config"
	"middleman/internal/plaintext"
	"middleman/internal/scratch"
)

// CLI is one run of the command line. Run sets JSON, Dirs and Config before it
// runs the command.
type CLI struct {
	In *os.File
	// Out is for results, Errs for everything else. Both spell out what would
	// steer the reader's terminal. A writer need not flush them: Run does.
	Out  *plaintext.Writer
	Errs *plaintext.Writer
	// BytesOut and BytesErrs are standard output and error for bytes that must
	// not change.
	BytesOut  *os.File
	BytesErrs io.Writer

	JSON bool // --json was given
	// Runtime is the remote runtime that the command's targets are on, "" for this
	// machine; see OnRuntime.
	Runtime string
	Dirs    config.Dirs
	Config  config.Config

	// Ahead is what was typed for the session that the command attaches to, and is
	// read already.
	Ahead []byte

	// Within says that the dashboard runs the command, whose process takes the signals.
	Within bool

	// Home, unless nil, is what runs at a terminal without a command.
	Home func(context.Context) error

	end       func() // what SIGQUIT does unless it means to detach; nil if Within
	noSession func() // makes SIGQUIT mean the end; nil unless it means to detach
}

// New makes a run that reads from in and prints to out and errs. The caller
// owns and closes them.
func New(in, out *os.File, errs io.Writer) *CLI {
	return &CLI{In: in, Out: plaintext.NewWriter(out), Errs: plaintext.NewWriter(errs), BytesOut: out, BytesErrs: errs}
}

// To returns a copy of c that prints to out and errs, while the terminal shows
// something else.
func (c *CLI) To(out, errs io.Writer) *CLI {
	to := *c
	to.Out, to.Errs, to.BytesErrs = plaintext.NewWriter(out), plaintext.NewWriter(errs), errs
	return &to
}

// On returns a copy of c for targets on the runtime with that name.
func (c *CLI) On(runtime string) *CLI {
	on := *c
	on.Runtime = runtime
	return &on
}

// Group is a part of the commands, under a title of the help. Help topics are in a
// group without a title.
type Group struct {
	Title    string
	Commands []*cobra.Command
}

// Run runs one of the commands and returns the exit code. args are without the
// program's name. It prints the command's error. The first interrupt or SIGTERM
// cancels the command's context, a second one ends the process. So does SIGQUIT, except
// in commands that attach and in the server: see takeSignals.
func (c *CLI) Run(args []string, groups ...Group) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // so that a second interrupt ends the process
	root := c.root(args)
	for _, g := range groups {
		root.AddCommand(g.Commands...)
		if g.Title == "" {
			continue
		}
		root.AddGroup(&cobra.Group{ID: g.Title, Title: g.Title + ":"})
		for _, cmd := range g.Commands {
			cmd.GroupID = g.Title
		}
		root.SetHelpCommandGroupID(g.Title) // the last one has it
	}
	c.setHelp(root)
	if len(args) == 1 && args[0] == "-V" { // as tmux and ssh have it
		args = []string{"--version"}
	}
	root.SetArgs(args)
	ctx, quitted := c.takeSignals(ctx, root, args)
	var err error
	if said := typedByHabit(args); said != "" {
		err = Usagef("%s", said)
	} else {
		err = root.ExecuteContext(ctx)
	}
	code := exitCode(err)
	if code == exitInterrupted && quitted() {
		code = exitQuit
	}
	if _, own := errors.AsType[*ProgramExit](err); err != nil && !own {
		c.printError(err, code, args)
	}
	if err := errors.Join(c.Out.Flush(), c.Errs.Flush()); err != nil && code == 0 {
		return 1
	}
	return code
}

const about = `middleman runs shells and coding agents, each in a workspace of its own: a git
worktree on its own branch, or another directory. Their terminals outlive everything
but their own program: kill the server or close the window, and the next attach
continues where you were.

    middleman new fix-login       # a worktree, a shell in it, attached; ctrl-\ detaches
    middleman                     # the dashboard: all sessions, and their screens
    middleman ls                  # all workspaces
    middleman attach fix-login    # the same shell, the screen as it was
    middleman rm fix-login        # refused if that would lose work`

func (c *CLI) root(given []string) *cobra.Command {
	root := &cobra.Command{
		Use:               "middleman",
		Short:             "Workspaces whose terminals outlive everything but their own program",
		Long:              about,
		Version:           build.Version(),
		SilenceUsage:      true,
		SilenceErrors:     true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
		Args:              cobra.ArbitraryArgs,
		PersistentPreRunE: func(cmd *cobra.Command, args []string) error {
			if Sandboxed() {
				return c.prepareSandboxed(cmd)
			}
			return errors.Join(c.redirect(cmd, args), c.prepare(cmd))
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) > 0:
			case c.Home != nil && !c.JSON && viewer.IsTerminal(c.In) && viewer.IsTerminal(c.BytesOut):
				return c.Home(cmd.Context())
			default:
				return cmd.Help()
			}
			return unknownCommand(cmd, args[0])
		},
	}
	root.SuggestionsMinimumDistance = 2
	root.SetVersionTemplate(build.Line() + "\n")
	root.SetOut(c.Out)
	root.SetErr(c.Errs)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if cmd == root && len(given) > 0 && !strings.HasPrefix(given[0], "-") { // the flag is of a command that there is not
			return unknownCommand(root, given[0])
		}
		return &usageError{suggestFlag(cmd, plainFlag(err))}
	})
	root.PersistentFlags().BoolVar(&c.JSON, "json", false, "print data as JSON")
	return root
}

// prepare finds the directories and loads the settings. It makes nothing. It
// refuses files that another user could have written before it reads them.
func (c *CLI) prepare(cmd *cobra.Command) (err error) {
	if c.Dirs, err = config.FindDirs(); err != nil {
		return err
	}
	if err := c.Dirs.Check(); err != nil {
		return err
	}
	scratch.Use(c.Dirs.Scratch())
	notes, err := c.Dirs.Tighten()
	for _, note := range notes {
		fmt.Fprintln(c.Errs, "middleman: note:", note)
	}
	if err != nil {
		return err
	}
	if c.Config, err = config.Load(c.Dirs.File()); err != nil && forWhatRuns(cmd) {
		c.Config = config.Default()
		c.Config.Attach.Clipboard, c.Config.Terminal.Clipboard = "deny", "deny" // as the settings may say
		if !cmd.Flags().Changed("agent") {                                      // else an agent runs it
			fmt.Fprintf(c.Errs, "middleman: note: the settings cannot be read, and this command goes on without them: %v\n", err)
		}
		return nil
	}
	return err
}

// forWhatRuns reports whether a command shows, reaches or ends what runs. It goes on if
// the settings cannot be read: whoever mistypes one must neither lose sight of agents
// nor cut off their hooks. None of these commands starts anything, and a server that they
// would start reads the settings itself.
func forWhatRuns(cmd *cobra.Command) bool {
	if !cmd.HasParent() {
		return true // the dashboard
	}
	return slices.Contains([]string{
		"approvals", "approve", "attach", "capture", "deny", "events", "export", "logs", "ls", "path", "report", "search", "send",
		"server logs", "server status", "server stop", "show", "status", "status explain", "stop", "tmux", "wait", "watch",
	}, strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()+" "))
}

// Confirm asks a question at the terminal and waits for the answer. Only y and
// yes mean yes.
func (c *CLI) Confirm(question string) bool {
	fmt.Fprint(c.Errs, question)
	c.Uncatch()
	answer, err := bufio.NewReader(c.In).ReadString('\n')
	if err != nil {
		return false
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return true
	}
	return false
}
