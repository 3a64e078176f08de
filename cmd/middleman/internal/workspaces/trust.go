package workspaces

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"middleman/cmd/middleman/internal/catalog"
	"middleman/cmd/middleman/internal/cli"
	"middleman/cmd/middleman/internal/viewer"
	"middleman/internal/api"
	"middleman/internal/client"
	"middleman/internal/plaintext"
	"middleman/internal/runtime"
)

// trustFlags are the flags of trust.
type trustFlags struct {
	dir          string
	yes          string // hash of the content that the user agrees to
	setup        bool
	dryRun       bool
	revoke, list bool
}

func (c commands) trustCommand() *cobra.Command {
	var f trustFlags
	cmd := &cobra.Command{
		Use:   "trust [WORKSPACE] [-C DIR] [--setup] [-n] [--yes HASH] [--revoke] [--list]",
		Short: "Show what a repository wants to run, and agree to it",
		Args:  cli.Args(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, given []string) error {
			if len(given) == 0 {
				c.Runtime, f.dir = runtime.Split(f.dir)
			} else if given[0] == "" && c.Runtime != "" {
				given = nil // RUNTIME: alone
			}
			switch {
			case f.list && (f.revoke || f.yes != "" || f.setup || len(given) > 0):
				return cli.Usagef("--list cannot be combined with a WORKSPACE or with --setup, --yes or --revoke")
			case f.revoke && (f.yes != "" || f.setup):
				return cli.Usagef("--revoke cannot be combined with --yes or --setup: these agree, it takes the agreement back")
			case f.setup && len(given) == 0:
				return cli.Usagef("--setup needs the WORKSPACE to set up")
			case len(given) > 0 && cmd.Flags().Changed("directory"):
				return cli.Usagef("give a WORKSPACE or a directory, not both")
			}
			return c.trust(cmd.Context(), given, f)
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&f.dir, "directory", "C", ".", "use the checkout at `DIR` instead of the one here, RUNTIME:DIR for one on a remote runtime")
	flags.BoolVar(&f.setup, "setup", false, "then apply the configuration to the workspace, and run its setup")
	flags.BoolVarP(&f.dryRun, "dry-run", "n", false, "only show it")
	flags.StringVar(&f.yes, "yes", "", "agree to the content with this `HASH` without being asked")
	flags.BoolVar(&f.revoke, "revoke", false, "take back every agreement in the repository")
	flags.BoolVar(&f.list, "list", false, "list every agreement")
	return cmd
}

func (c commands) trust(ctx context.Context, given []string, f trustFlags) error {
	server, err := c.Server(ctx)
	if err != nil {
		return err
	}
	defer server.Close()
	if f.list {
		return c.listTrust(ctx, server)
	}
	where, err := c.trustPlace(ctx, server, given, f.dir)
	if err != nil {
		return err
	}
	if f.revoke {
		return c.revokeTrust(ctx, server, where, f.dryRun)
	}
	shown, err := where.config(ctx, server)
	if err != nil {
		return err
	}
	if !shown.Present {
		return fmt.Errorf("%s has no %s: there is nothing to agree to", shown.Repository, shown.File)
	}
	if c.JSON && (f.dryRun || f.yes == "") {
		if err := c.PrintJSON(map[string]any{"config": shown}); err != nil || !f.dryRun {
			return err
		}
	} else if f.yes == "" {
		c.showConfig(shown)
	}
	if f.dryRun {
		return unfit(shown, f.yes)
	}
	return c.agree(ctx, server, where, shown, f)
}

// unfit returns the error with which agreeing to shown would be refused, or nil.
// hash is that of the content that the user names, or "".
func unfit(shown api.RepoConfig, hash string) error {
	switch {
	case shown.Problem != "":
		return fmt.Errorf("%s of %s cannot be used: %s", shown.File, shown.Repository, shown.Problem)
	case hash != "" && hash != shown.Hash:
		return fmt.Errorf("%s of %s does not have the hash %q: look at it again", shown.File, shown.Repository, hash)
	}
	return nil
}

// trustPlace is where the repository's configuration is: in a workspace or in a
// directory.
type trustPlace struct {
	workspace *api.Workspace
	directory string
}

func (c commands) trustPlace(ctx context.Context, server *client.Client, given []string, dir string) (trustPlace, error) {
	if len(given) == 0 {
		abs, err := c.Directory(dir)
		return trustPlace{directory: abs}, err
	}
	list, err := catalog.OfServer(ctx, server)
	if err != nil {
		return trustPlace{}, err
	}
	w, err := list.Workspace(given[0])
	return trustPlace{workspace: &w, directory: w.Root}, err
}

func (p trustPlace) config(ctx context.Context, server *client.Client) (api.RepoConfig, error) {
	if p.workspace != nil {
		return server.WorkspaceConfig(ctx, p.workspace.ID)
	}
	return server.Config(ctx, p.directory)
}

// showConfig prints the file unchanged, and what it would run.
func (c commands) showConfig(v api.RepoConfig) {
	fmt.Fprintf(c.Errs, "%s, SHA-256 %s:\n", plaintext.Line(filepath.Join(v.Repository, v.File)), v.Hash)
	for line := range strings.Lines(v.Content) {
		fmt.Fprintln(c.Out, strings.TrimRight(line, "\r\n"))
	}
	say := func(what string, items []string) {
		for _, item := range items {
			fmt.Fprintf(c.Errs, "%s: %s\n", what, plaintext.Line(item))
		}
	}
	say("runs for a new workspace", v.Setup)
	say("runs before a workspace is deleted", v.Teardown)
	say("runs before a workspace is merged", v.Check)
	say("copies from the main checkout", v.Copy)
	for _, name := range slices.Sorted(maps.Keys(v.Env)) {
		fmt.Fprintf(c.Errs, "sets in setup and sessions: %s=%s\n", name, plaintext.Line(v.Env[name]))
	}
	if v.Ports != nil {
		fmt.Fprintf(c.Errs, "ports: %d\n", *v.Ports)
	}
	say("profile", v.Profiles)
	fmt.Fprintln(c.Errs, "Commands run as you, outside of any sandbox, with the files of the checkout that they name.")
}

// agree asks, unless the hash was given, and then agrees.
func (c commands) agree(ctx context.Context, server *client.Client, where trustPlace, shown api.RepoConfig, f trustFlags) error {
	if err := unfit(shown, f.yes); err != nil {
		return err
	}
	switch {
	case shown.Trusted && !f.setup:
		fmt.Fprintln(c.Errs, "You have agreed to this already.")
	case f.yes == "" && !shown.Trusted:
		if err := c.ask(shown, f); err != nil {
			return err
		}
		f.yes = shown.Hash
	case f.yes == "":
		f.yes = shown.Hash // the user agreed before
	}
	if f.yes == "" {
		return nil
	}
	if f.setup {
		fmt.Fprintf(c.Errs, "setting up %s; `middleman logs %s --setup` shows what it prints\n", where.workspace.Label, where.workspace.Label)
	}
	approved, err := where.approve(ctx, server, f)
	if err != nil {
		return err
	}
	return c.Print(approved, func() error {
		if approved.Workspace != nil {
			ExplainSkipped(c.CLI, *approved.Workspace)
		} else if where.workspace != nil {
			fmt.Fprintf(c.Errs, "agreed; `middleman trust %s --setup` runs its setup\n", where.workspace.Label)
		}
		return nil
	})
}

func (p trustPlace) approve(ctx context.Context, server *client.Client, f trustFlags) (api.Approved, error) {
	if p.workspace != nil {
		return server.TrustWorkspace(ctx, p.workspace.ID, api.Approve{Hash: f.yes, Setup: f.setup})
	}
	return server.Trust(ctx, api.ApproveIn{Directory: p.directory, Hash: f.yes})
}

// errNotAgreed says that the user answered no.
var errNotAgreed = errors.New("not agreed: the configuration is not used")

// ask asks at the terminal. It refuses to read a pipe, because then the user
// may not have seen the content.
func (c commands) ask(shown api.RepoConfig, f trustFlags) error {
	if !viewer.IsTerminal(c.In) {
		return fmt.Errorf("there is no terminal to ask at: `middleman trust ... --yes %s` agrees to this content", shown.Hash)
	}
	question := "Agree to this? [y/N] "
	if f.setup {
		question = "Agree to this, and run the setup? [y/N] "
	}
	if !c.Confirm(question) {
		return errNotAgreed
	}
	return nil
}

func (c commands) revokeTrust(ctx context.Context, server *client.Client, where trustPlace, dryRun bool) error {
	revoked, err := server.Distrust(ctx, where.directory, dryRun)
	if err != nil {
		return err
	}
	return c.Print(struct {
		DryRun bool `json:"dry_run"`
		api.Revoked
	}{dryRun, revoked}, func() error {
		fmt.Fprintln(c.Out, revoked.Revoked)
		return nil
	})
}

func (c commands) listTrust(ctx context.Context, server *client.Client) error {
	trusts, err := server.Trusts(ctx)
	if err != nil {
		return err
	}
	return c.Print(trusts, func() error {
		t := c.Table("AGREED", "SHA-256", "REPOSITORY")
		for _, x := range trusts.Trusted {
			t.Row(x.ApprovedAt.Local().Format(time.DateTime), x.Hash, x.GitDir)
		}
		return t.Flush()
	})
}
