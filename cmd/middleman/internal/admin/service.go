package admin

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"middleman/cmd/middleman/internal/cli"
	"middleman/cmd/middleman/internal/service"
	"middleman/internal/client"
	"middleman/internal/config"
)

// serviceOptions are the flags of the service commands.
type serviceOptions struct {
	listen  string
	force   bool
	noStart bool
	dryRun  bool
}

func (c commands) serviceCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "service",
		Short: "Run the server as a service of your user, from login on",
		Args:  cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, given []string) error {
			if len(given) > 0 {
				return cli.Usagef("unknown command %q; usage: middleman service install|uninstall|status|print", given[0])
			}
			return cmd.Help()
		},
	}
	var o serviceOptions
	add := func(use, short string, run func(context.Context, serviceOptions) error) *cobra.Command {
		sub := &cobra.Command{
			Use: use, Short: short, Args: cli.Args(cobra.NoArgs),
			RunE: func(cmd *cobra.Command, _ []string) error { return run(cmd.Context(), o) },
		}
		cmd.AddCommand(sub)
		return sub
	}
	install := add("install [--listen ADDR] [--no-start] [--force] [-n]", "Write the service, enable and start it", c.serviceInstall)
	uninstall := add("uninstall [--force] [-n]", "Stop the service and remove it; sessions go on", c.serviceUninstall)
	add("status", "Show whether the service is installed and running", func(ctx context.Context, _ serviceOptions) error { return c.serviceStatus(ctx) })
	show := add("print [--listen ADDR]", "Print the service as install would write it", c.servicePrint)
	for _, sub := range []*cobra.Command{install, show} {
		sub.Flags().StringVar(&o.listen, "listen", "", "address for browsers, as for serve")
	}
	install.Flags().BoolVar(&o.noStart, "no-start", false, "start it at the next login, not now")
	for _, sub := range []*cobra.Command{install, uninstall} {
		sub.Flags().BoolVar(&o.force, "force", false, "even if middleman did not write the installed service")
		sub.Flags().BoolVarP(&o.dryRun, "dry-run", "n", false, "only print what would be done")
	}
	return cmd
}

// serviceText returns the service's file for this binary and these directories.
func (c commands) serviceText(o serviceOptions) ([]byte, error) {
	exe, err := stableExecutable()
	if err != nil {
		return nil, err
	}
	so := service.Options{Executable: exe, Args: []string{"serve"}, Log: c.Dirs.ServerLog()}
	if o.listen != "" {
		if err := config.CheckListen(o.listen); err != nil {
			return nil, cli.Usagef("--listen is %w", err)
		}
		so.Args = append(so.Args, "--listen", o.listen)
	}
	// The service manager's PATH may lack programs that the user has installed.
	for _, name := range []string{"PATH", "MIDDLEMAN_HOME"} {
		if value := os.Getenv(name); value != "" {
			so.Env = append(so.Env, name+"="+value)
		}
	}
	return service.Text(so)
}

// stableExecutable returns the path by which this binary was called, because a
// link there survives an upgrade. If that is not this binary it returns the
// binary's own path.
func stableExecutable() (string, error) {
	exe, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find our own executable: %w", err)
	}
	running, err := os.Stat(exe)
	if err != nil {
		return "", fmt.Errorf("the running binary is not on disk any more: %w", err)
	}
	called, err := exec.LookPath(os.Args[0])
	if err != nil {
		return exe, nil
	}
	if called, err = filepath.Abs(called); err != nil {
		return exe, nil
	}
	if info, err := os.Stat(called); err != nil || !os.SameFile(info, running) {
		return exe, nil
	}
	return called, nil
}

func (c commands) servicePrint(_ context.Context, o serviceOptions) error {
	text, err := c.serviceText(o)
	if err != nil {
		return err
	}
	_, err = c.Out.Write(text)
	return err
}

func (c commands) serviceInstall(ctx context.Context, o serviceOptions) error {
	text, err := c.serviceText(o)
	if err != nil {
		return err
	}
	path, err := service.Path()
	if err != nil {
		return err
	}
	if _, err := service.Installed(path); err != nil && !(o.force && errors.Is(err, service.ErrForeign)) {
		return fmt.Errorf("%w: nothing was changed; --force replaces it", err)
	}
	if err := service.Supported(); err != nil {
		return err
	}
	status, err := service.Ask(ctx)
	if err != nil {
		return err
	}
	if err := c.checkOtherServer(ctx, status, o); err != nil {
		return err
	}
	commands := service.InstallCommands(path, !o.noStart, status.Active == "active")
	if o.dryRun {
		fmt.Fprintf(c.Out, "would write %s:\n\n%s\n", path, text)
		c.wouldRun(commands)
		return nil
	}
	if err := service.Write(path, text); err != nil {
		return err
	}
	fmt.Fprintf(c.Errs, "wrote %s\n", path)
	if err := c.runEach(ctx, commands); err != nil {
		return err
	}
	if hint := service.Hint(); hint != "" {
		fmt.Fprintln(c.Errs, "note:", hint)
	}
	return nil
}

// checkOtherServer returns an error if a server runs outside the service: there
// is one server per user.
func (c commands) checkOtherServer(ctx context.Context, status service.Status, o serviceOptions) error {
	if o.noStart || o.dryRun {
		return nil
	}
	server, err := client.Connect(ctx, c.Dirs)
	if err != nil {
		return nil // if one runs and does not answer, the service will report that
	}
	server.Close()
	serve, err := client.ReadServe(c.Dirs)
	if err != nil || serve.PID == status.PID {
		return err
	}
	return fmt.Errorf("a server runs already, process %d: end it first (`kill %d`; sessions go on), or use --no-start", serve.PID, serve.PID)
}

func (c commands) serviceUninstall(ctx context.Context, o serviceOptions) error {
	path, err := service.Path()
	if err != nil {
		return err
	}
	there, err := service.Installed(path)
	if err != nil && !(o.force && errors.Is(err, service.ErrForeign)) {
		return fmt.Errorf("%w: nothing was changed; --force removes it", err)
	}
	if !there {
		return fmt.Errorf("no service is installed: there is no %s", path)
	}
	if err := service.Supported(); err != nil {
		return err
	}
	if o.dryRun {
		c.wouldRun(service.BeforeRemoval(path))
		fmt.Fprintf(c.Out, "would remove %s\n", path)
		c.wouldRun(service.AfterRemoval())
		return nil
	}
	if err := c.runEach(ctx, service.BeforeRemoval(path)); err != nil {
		return err
	}
	if err := os.Remove(path); err != nil {
		return err
	}
	fmt.Fprintf(c.Errs, "removed %s; sessions go on\n", path)
	return c.runEach(ctx, service.AfterRemoval())
}

func (c commands) wouldRun(commands [][]string) {
	for _, command := range commands {
		fmt.Fprintf(c.Out, "would run: %s\n", strings.Join(command, " "))
	}
}

// runEach prints and runs the commands, and stops at the first that fails.
func (c commands) runEach(ctx context.Context, commands [][]string) error {
	for _, command := range commands {
		fmt.Fprintf(c.Errs, "run: %s\n", strings.Join(command, " "))
		out, err := exec.CommandContext(ctx, command[0], command[1:]...).CombinedOutput()
		if err != nil {
			return fmt.Errorf("%s: %w: %s", strings.Join(command, " "), err, strings.TrimSpace(string(out)))
		}
	}
	return nil
}

// serviceState is the output of `service status`.
type serviceState struct {
	Path      string `json:"path"`
	Installed bool   `json:"installed"`
	Ours      bool   `json:"ours"`
	Enabled   string `json:"enabled,omitempty"`
	Active    string `json:"active,omitempty"`
	PID       int    `json:"pid,omitempty"`
	Note      string `json:"note,omitempty"`
}

func (c commands) serviceStatus(ctx context.Context) error {
	path, err := service.Path()
	if err != nil {
		return err
	}
	there, err := service.Installed(path)
	if err != nil && !errors.Is(err, service.ErrForeign) {
		return err
	}
	state := serviceState{Path: path, Installed: there, Ours: there && err == nil}
	status, err := service.Ask(ctx)
	switch {
	case err != nil:
		state.Note = err.Error()
	default:
		state.Enabled, state.Active, state.PID = status.Enabled, status.Active, status.PID
		state.Note = service.Hint()
	}
	return c.Print(state, func() error {
		t := c.Table()
		t.Row("service", path)
		t.Row("installed", installedWord(state))
		if err == nil {
			t.Row("enabled", state.Enabled)
			t.Row("active", state.Active)
		}
		if state.PID != 0 {
			t.Row("process", fmt.Sprint(state.PID))
		}
		if state.Note != "" {
			t.Row("note", state.Note)
		}
		return t.Flush()
	})
}

func installedWord(s serviceState) string {
	switch {
	case s.Ours:
		return "yes"
	case s.Installed:
		return "yes, but middleman did not write it"
	}
	return "no"
}
