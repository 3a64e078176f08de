package workspaces

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"middleman/cmd/middleman/internal/catalog"
	"middleman/cmd/middleman/internal/cli"
	"middleman/internal/api"
	"middleman/internal/plaintext"
)

func (c commands) restoreCommand() *cobra.Command {
	return &cobra.Command{
		Use:               "restore WORKSPACE",
		Short:             "Bring back a deleted workspace; `ls --all` lists them",
		Args:              cli.Args(cobra.ExactArgs(1)),
		ValidArgsFunction: c.completeDeleted,
		RunE: func(cmd *cobra.Command, given []string) error {
			return c.restore(cmd.Context(), given[0])
		},
	}
}

func (c commands) restore(ctx context.Context, name string) error {
	server, err := c.Server(ctx)
	if err != nil {
		return err
	}
	defer server.Close()
	deleted, err := server.DeletedWorkspaces(ctx)
	if err != nil {
		return err
	}
	w, err := oneDeleted(deleted, name)
	if err != nil {
		list, listErr := catalog.OfServer(ctx, server)
		if listErr != nil {
			return listErr
		}
		if live, listErr := list.Workspace(name); listErr == nil && len(named(deleted, name)) == 0 {
			return fmt.Errorf("workspace %s is not deleted", live.Name)
		}
		return err
	}
	var restored api.Restored
	err = c.Progress("restoring").During(ctx, server, w.ID, func() (err error) {
		restored, err = server.RestoreWorkspace(ctx, w.ID)
		return err
	})
	if err != nil {
		return cli.Interrupted(err, fmt.Sprintf("the server goes on restoring %s; `middleman show %s` says how far it is", w.Name, w.Name))
	}
	for _, warning := range restored.Warnings {
		fmt.Fprintln(c.Errs, "middleman:", plaintext.Line(warning))
	}
	return c.Print(restored, func() error {
		fmt.Fprintln(c.Out, restored.Workspace.Name)
		return nil
	})
}

// named returns the workspaces with that name or id.
func named(list []api.Workspace, name string) []api.Workspace {
	return slices.DeleteFunc(slices.Clone(list), func(w api.Workspace) bool { return w.ID != name && w.Name != name })
}

// oneDeleted returns the deleted workspace with that name, or with a name that
// begins so if no other does. If several have the name, the error lists their
// ids.
func oneDeleted(list []api.Workspace, name string) (api.Workspace, error) {
	names := make([]string, len(list))
	for i, w := range list {
		names[i] = w.Name
	}
	found := named(list, name)
	if begun := catalog.Choose(name, names); len(found) == 0 && begun != "" {
		found = named(list, begun)
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return api.Workspace{}, catalog.Unknown("deleted workspace", name, names)
	}
	ids := make([]string, len(found))
	for i, w := range found {
		ids[i] = w.ID
		if w.DeletedAt != nil {
			ids[i] += " (deleted " + w.DeletedAt.Local().Format(time.DateTime) + ")"
		}
	}
	return api.Workspace{}, fmt.Errorf("several workspaces %s were deleted: name one of %s", name, strings.Join(ids, ", "))
}

// completeDeleted offers the deleted workspaces.
func (c commands) completeDeleted(cmd *cobra.Command, given []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(given) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	deleted, err := catalog.Deleted(cmd.Context(), c.CLI)
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	names := make([]string, len(deleted.Workspaces))
	for i, w := range deleted.Workspaces {
		names[i] = w.Name
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
