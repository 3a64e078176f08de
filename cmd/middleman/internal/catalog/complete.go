package catalog

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"middleman/cmd/middleman/internal/cli"
	"middleman/internal/api"
)

// Complete completes a command's argument. It offers the workspaces, and for a
// TARGET each session of those that have several. A command whose usage says
// "TARGET..." or "WORKSPACE..." takes several arguments.
func Complete(c *cli.CLI) cobra.CompletionFunc {
	return func(cmd *cobra.Command, given []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(given) > 0 && !strings.Contains(cmd.Use, "TARGET...") && !strings.Contains(cmd.Use, "WORKSPACE...") {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		names, err := completions(cmd, c)
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		return slices.DeleteFunc(names, func(name string) bool { return slices.Contains(given, name) }), cobra.ShellCompDirectiveNoFileComp
	}
}

func completions(cmd *cobra.Command, c *cli.CLI) (names []string, err error) {
	if !strings.Contains(cmd.Use, "TARGET") {
		list, err := Workspaces(cmd.Context(), c)
		for _, w := range list {
			names = append(names, w.Label)
		}
		return names, err
	}
	list, err := Read(cmd.Context(), c)
	for _, w := range list.Workspaces {
		names = append(names, w.Label)
		if sessions := list.SessionsOf(w.ID); len(sessions) > 1 {
			names = append(names, labels(sessions)...)
		}
	}
	return names, err
}

// labels returns the names of sessions, see Label.
func labels(sessions []api.Session) []string {
	names := make([]string, len(sessions))
	for i, s := range sessions {
		names[i] = Label(s)
	}
	return names
}
