// Package cli holds what every command of the command line needs: where
// results and complaints are printed, as text or as JSON; errors and the exit
// codes that they become; flags; settings and directories; progress; and the
// ways to the server and to the backends. It knows no command.
package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"middleman/internal/config"
	"middleman/internal/plaintext"
)

// CLI is one run of the command line. Run fills in JSON, Dirs and Config before
// it runs the command.
type CLI struct {
	In *os.File
	// Out takes results, Errs all else. Both spell out what would steer the
	// terminal of who reads it. Who writes to them need not flush: Run does.
	Out  *plaintext.Writer
	Errs *plaintext.Writer
	// BytesOut and BytesErrs are standard output and error for bytes that are
	// to be printed as they are.
	BytesOut  *os.File
	BytesErrs io.Writer

	JSON   bool // --json was given
	Dirs   config.Dirs
	Config config.Config

	uncatch func() // see Uncatch
}

// New makes a run that reads from in and prints to out and errs. The caller
// owns and closes them.
func New(in, out *os.File, errs io.Writer) *CLI {
	return &CLI{In: in, Out: plaintext.NewWriter(out), Errs: plaintext.NewWriter(errs), BytesOut: out, BytesErrs: errs}
}

// Run runs the one of commands that args name, without the program's own name,
// and returns the exit code. It prints the command's error. The first interrupt
// cancels the command's context, a second one ends the process.
func (c *CLI) Run(args []string, commands ...*cobra.Command) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second interrupt ends at once
	c.uncatch = func() { signal.Reset(os.Interrupt, syscall.SIGTERM) }
	root := c.root()
	root.AddCommand(commands...)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	code := exitCode(err)
	if _, own := errors.AsType[*ProgramExit](err); err != nil && !own {
		fmt.Fprintln(c.Errs, "middleman:", Message(err))
	}
	if err := errors.Join(c.Out.Flush(), c.Errs.Flush()); err != nil && code == 0 {
		return 1
	}
	return code
}

// Uncatch gives interrupts their usual effect again: they end the process. A
// command calls it before it waits for what cannot be cancelled.
func (c *CLI) Uncatch() { c.uncatch() }

func (c *CLI) root() *cobra.Command {
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
				return Usagef("unknown command %q; did you mean %s?", args[0], strings.Join(near, " or "))
			}
			return Usagef("unknown command %q; `middleman help` lists them", args[0])
		},
	}
	root.SuggestionsMinimumDistance = 2
	root.SetOut(c.Out)
	root.SetErr(c.Errs)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return &usageError{plainFlag(err)} })
	root.PersistentFlags().BoolVar(&c.JSON, "json", false, "print data as JSON")
	return root
}

// prepare finds directories and settings; it makes nothing. What another user
// could have written is refused before any of it is read.
func (c *CLI) prepare() (err error) {
	if c.Dirs, err = config.FindDirs(); err != nil {
		return err
	}
	if err := c.Dirs.Check(); err != nil {
		return err
	}
	notes, err := c.Dirs.Tighten()
	for _, note := range notes {
		fmt.Fprintln(c.Errs, "middleman: note:", note)
	}
	if err != nil {
		return err
	}
	c.Config, err = config.Load(c.Dirs.File())
	return err
}

// Confirm asks a question at the terminal and waits for the answer. Anything
// but y or yes is no.
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
