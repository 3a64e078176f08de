package workspaces

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"middleman/cmd/middleman/internal/catalog"
	"middleman/cmd/middleman/internal/cli"
	"middleman/internal/api"
)

func (c commands) restoreCommand() *cobra.Command {
	return &cobra.Command{
		Use:               "restore WORKSPACE",
		Short:             "Bring back a deleted workspace; `ls --all` lists them",
		Args:              cli.Args(cobra.ExactArgs(1)),
		ValidArgsFunction: catalog.CompleteDeleted(c.CLI),
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
		if live, listErr := list.Workspace(name); listErr == nil && len(catalog.SetOf(deleted).All(name, true)) == 0 {
			return fmt.Errorf("workspace %s is not deleted", live.Label)
		}
		return err
	}
	var restored api.Restored
	err = c.Progress("restoring").During(ctx, server, w.ID, func() (err error) {
		restored, err = server.RestoreWorkspace(ctx, w.ID)
		return err
	})
	if err != nil {
		return cli.Interrupted(err, fmt.Sprintf("the server goes on restoring %s; `middleman show %s` says how far it is", w.Label, w.Label))
	}
	c.Warn(restored.Warnings...)
	restored.Workspace = catalog.OnRuntime(c.CLI, api.Created{Workspace: restored.Workspace}).Workspace
	return c.Print(restored, func() error {
		fmt.Fprintln(c.Out, restored.Workspace.Label)
		return nil
	})
}

// oneDeleted returns the deleted workspace that text means. If several have the
// name, the error lists their ids.
func oneDeleted(list []api.Workspace, text string) (api.Workspace, error) {
	set := catalog.SetOf(list)
	found := set.All(text, false)
	switch len(found) {
	case 1:
		return list[found[0]], nil
	case 0:
		return api.Workspace{}, set.None("deleted workspace", text)
	}
	ids := make([]string, len(found))
	for i, at := range found {
		w := list[at]
		if ids[i] = w.ID; w.DeletedAt != nil {
			ids[i] += " (" + w.Label + ", deleted " + w.DeletedAt.Local().Format(time.DateTime) + ")"
		}
	}
	return api.Workspace{}, fmt.Errorf("several workspaces %s were deleted: name one of %s", text, strings.Join(ids, ", "))
}
