// Command middleman manages workspaces whose terminals outlive everything but
// their own program. This package only connects the commands, which are in
// packages below internal, to the command line.
package main

import (
	"os"
	"strings"

	"middleman/cmd/middleman/internal/admin"
	"middleman/cmd/middleman/internal/catalog"
	"middleman/cmd/middleman/internal/cli"
	_ "middleman/cmd/middleman/internal/helper" // runs helper processes before main
	"middleman/cmd/middleman/internal/launch"
	"middleman/cmd/middleman/internal/manual"
	"middleman/cmd/middleman/internal/sessions"
	"middleman/cmd/middleman/internal/workspaces"
)

func main() {
	c := cli.New(os.Stdin, os.Stdout, os.Stderr)
	os.Exit(c.Run(os.Args[1:], commands(c)...))
}

// commands returns all commands.
func commands(c *cli.CLI) []cli.Group {
	groups := []cli.Group{
		{Title: "Start something", Commands: launch.Commands(c)},    // new, run, spawn, retry
		{Title: "On a session", Commands: sessions.Commands(c)},     // attach, watch, send, capture, logs, search, export, wait, stop, tmux
		{Title: "On a workspace", Commands: workspaces.Commands(c)}, // ls, show, path, rename, diff, merge, push, rm, restore, prune, import, repair, trust
		{Title: "On middleman itself", Commands: admin.Commands(c)}, // serve, server, service, open, login, token, audit, config, doctor, upgrade, version, completion, man
		{Commands: manual.Topics()},
	}
	for _, g := range groups {
		for _, cmd := range g.Commands {
			takes := strings.Contains(cmd.Use, "TARGET") || strings.Contains(cmd.Use, "WORKSPACE")
			if takes && cmd.ValidArgsFunction == nil {
				cmd.ValidArgsFunction = catalog.Complete(c)
			}
		}
	}
	return groups
}
