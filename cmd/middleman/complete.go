package main

import "github.com/spf13/cobra"

// completeTarget offers the workspaces, and each session of those that have
// several, for a command's first argument.
func (c commands) completeTarget(cmd *cobra.Command, given []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(given) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	list, err := c.readCatalog(cmd.Context())
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	var names []string
	for _, w := range list.workspaces {
		names = append(names, w.Name)
		if sessions := list.sessionsOf(w.ID); len(sessions) > 1 {
			for _, s := range sessions {
				names = append(names, w.Name+"/"+s.Name)
			}
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// completeDeleted offers the workspaces that can be restored.
func (c commands) completeDeleted(cmd *cobra.Command, given []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(given) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	deleted, err := c.readDeleted(cmd.Context())
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	names := make([]string, len(deleted))
	for i, w := range deleted {
		names[i] = w.Name
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
