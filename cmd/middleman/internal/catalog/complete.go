package catalog

import (
	"github.com/spf13/cobra"

	"middleman/cmd/middleman/internal/cli"
)

// Complete completes a command's first argument, a TARGET. It offers the
// workspaces, and each session of those that have several.
func Complete(c *cli.CLI) cobra.CompletionFunc {
	return func(cmd *cobra.Command, given []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(given) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		list, err := Read(cmd.Context(), c)
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		var names []string
		for _, w := range list.Workspaces {
			names = append(names, w.Name)
			if sessions := list.SessionsOf(w.ID); len(sessions) > 1 {
				for _, s := range sessions {
					names = append(names, w.Name+"/"+s.Name)
				}
			}
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}
