// Command middleman manages workspaces whose terminals outlive everything but
// their own program. This package only connects the commands, which are in
// packages below internal, to the command line.
package main

import (
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"middleman/cmd/middleman/internal/admin"
	"middleman/cmd/middleman/internal/catalog"
	"middleman/cmd/middleman/internal/cli"
	_ "middleman/cmd/middleman/internal/helper" // runs helper processes before main
	"middleman/cmd/middleman/internal/launch"
	"middleman/cmd/middleman/internal/sessions"
	"middleman/cmd/middleman/internal/workspaces"
)

func main() {
	c := cli.New(os.Stdin, os.Stdout, os.Stderr)
	os.Exit(c.Run(os.Args[1:], commands(c)...))
}

// commands returns all commands.
func commands(c *cli.CLI) []*cobra.Command {
	all := slices.Concat(
		launch.Commands(c),     // start something: new, run, spawn, retry
		sessions.Commands(c),   // on a session: attach, watch, send, capture, logs, search, export, wait, stop, tmux
		workspaces.Commands(c), // on workspaces: ls, show, diff, rm, restore, prune, import, repair, trust
		admin.Commands(c),      // on middleman itself: serve, service, open, login, token, audit, doctor, upgrade, version, completion
	)
	for _, cmd := range all {
		if cmd.ValidArgsFunction != nil {
			continue
		}
		if strings.Contains(cmd.Use, " TARGET") || strings.Contains(cmd.Use, " WORKSPACE") {
			cmd.ValidArgsFunction = catalog.Complete(c)
		}
	}
	return all
}
