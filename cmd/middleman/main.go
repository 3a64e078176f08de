// Command middleman manages workspaces whose terminals outlive everything but
// their own program. This package only connects the commands, which are in
// packages below internal, to the command line.
package main

import (
	"context"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"middleman/cmd/middleman/internal/admin"
	"middleman/cmd/middleman/internal/catalog"
	"middleman/cmd/middleman/internal/cli"
	"middleman/cmd/middleman/internal/dashboard"
	_ "middleman/cmd/middleman/internal/early"  // answers version before main
	_ "middleman/cmd/middleman/internal/helper" // runs helper processes before main
	"middleman/cmd/middleman/internal/launch"
	"middleman/cmd/middleman/internal/manual"
	"middleman/cmd/middleman/internal/remotes"
	"middleman/cmd/middleman/internal/sessions"
	"middleman/cmd/middleman/internal/workspaces"
)

func main() {
	c := cli.New(os.Stdin, os.Stdout, os.Stderr)
	c.Home = func(ctx context.Context) error { return dashboard.Run(ctx, c, runCommand) }
	os.Exit(c.Run(os.Args[1:], commands(c, os.Args[1:])...))
}

// runCommand runs a command line for the dashboard.
func runCommand(in, out *os.File, errs io.Writer, ahead []byte, args ...string) int {
	c := cli.New(in, out, errs)
	c.Ahead, c.Within = ahead, true
	return c.Run(args, commands(c, args)...)
}

// commands returns all commands. Only a shell that completes args, by a hidden
// command, needs their completions.
func commands(c *cli.CLI, args []string) []cli.Group {
	completes := len(args) > 0 && strings.HasPrefix(args[0], cobra.ShellCompRequestCmd)
	groups := []cli.Group{
		{Title: "Start something", Commands: launch.Commands(c)},    // new, run, spawn, retry
		{Title: "On a session", Commands: sessions.Commands(c)},     // attach, watch, send, capture, logs, search, export, wait, stop, tmux
		{Title: "On a workspace", Commands: workspaces.Commands(c)}, // ls, show, path, rename, diff, merge, push, rm, restore, prune, import, repair, sandbox, trust
		{Title: "On other machines", Commands: remotes.Commands(c)}, // runtime, connect
		{Title: "On middleman itself", Commands: admin.Commands(c)}, // serve, server, service, open, login, token, audit, config, doctor, upgrade, version, completion, man
		{Commands: manual.Topics()},
	}
	for _, g := range groups {
		for _, cmd := range g.Commands {
			if completes {
				catalog.AddCompletions(c, cmd)
			}
			cli.NameArguments(cmd)
			cmd.SuggestFor = elsewhere(cmd.Name())
		}
	}
	return groups
}

// elsewhere returns the names that a command has in tmux, worktrunk, git or a shell,
// or that people try. An unknown command proposes ours.
func elsewhere(name string) []string {
	switch name {
	case "attach":
		return []string{"attach-session", "at", "switch", "select-window", "last-session", "switch-client", "a", "resume"}
	case "capture":
		return []string{"capture-pane", "capturep", "screen"}
	case "config":
		return []string{"settings", "set", "set-option", "show-options", "setw"}
	case "logs":
		return []string{"log", "tail"}
	case "ls":
		return []string{"list-sessions", "list-windows", "list-panes", "list-clients", "lsw", "lsp", "lsc", "ps"}
	case "man":
		return []string{"docs", "manual"}
	case "new":
		return []string{"new-session", "create", "add", "start"}
	case "path":
		return []string{"cd", "pwd"}
	case "rename":
		return []string{"rename-session", "rename-window", "mv"}
	case "rm":
		return []string{"delete"}
	case "run":
		return []string{"exec", "shell", "new-window", "neww"}
	case "send":
		return []string{"send-keys", "paste-buffer", "type"}
	case "serve":
		return []string{"start-server"}
	case "show":
		return []string{"info", "inspect"}
	case "stop":
		return []string{"kill-session", "kill-window", "kill-pane", "killw", "killp"}
	}
	return nil
}
