package workspaces

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"middleman/cmd/middleman/internal/catalog"
	"middleman/cmd/middleman/internal/cli"
	"middleman/cmd/middleman/internal/viewer"
	"middleman/internal/plaintext"
)

func (c commands) pathCommand() *cobra.Command {
	var repository bool
	cmd := &cobra.Command{
		Use:   "path [WORKSPACE] [--repository]",
		Short: "Print a workspace's directory, or its repository's",
		Long: `Print a workspace's directory, or with --repository that of its repository's main
checkout. Without WORKSPACE it is the one you stand in.

    cd "$(middleman path fix-login)"

What ` + "`middleman completion`" + ` prints for bash, zsh and fish defines mm for that: mm NAME
goes to a workspace, mm alone to the repository of the one you stand in.`,
		Args: cli.Args(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, given []string) error {
			name := ""
			if len(given) > 0 {
				if name = given[0]; name == "" {
					return catalog.SetOf(nil).None("workspace", name)
				}
			}
			return c.path(cmd.Context(), name, repository)
		},
	}
	cmd.Flags().BoolVar(&repository, "repository", false, "the directory of its repository instead")
	return cmd
}

func (c commands) path(ctx context.Context, name string, repository bool) error {
	list, err := catalog.Workspaces(ctx, c.CLI)
	if err != nil {
		return err
	}
	w, err := standingIn(list, name)
	if err != nil {
		return err
	}
	path := w.Path
	if repository {
		path = w.Repository
	}
	switch {
	case repository && path == "":
		return fmt.Errorf("workspace %s is in no repository", w.Label)
	case path == "":
		return fmt.Errorf("workspace %s is %s: it has no directory yet", w.Label, w.State)
	case w.Problem != "":
		fmt.Fprintf(c.Errs, "middleman: %s: %s\n", w.Label, plaintext.Line(w.Problem))
	}
	return c.Print(map[string]any{"path": path}, func() error {
		if viewer.IsTerminal(c.BytesOut) {
			_, err := fmt.Fprintln(c.Out, path)
			return err
		}
		_, err := fmt.Fprintln(c.BytesOut, path) // a script needs it as it is
		return err
	})
}
