// Package workspaces has the commands on existing workspaces: ls, show, path
// and rename, diff, merge and push, rm and restore, prune, import, repair and
// trust. Most ask the server, and start one if none runs.
package workspaces

import (
	"github.com/spf13/cobra"

	"middleman/cmd/middleman/internal/cli"
)

// Commands returns the commands of this package for the run c.
func Commands(c *cli.CLI) []*cobra.Command {
	r := commands{c}
	return []*cobra.Command{
		cli.OnRuntime(r.lsCommand(), 0),
		cli.OnRuntime(r.showCommand(), 0),
		r.pathCommand(),
		cli.OnRuntime(r.renameCommand(), 0),
		cli.OnRuntime(r.diffCommand(), 0),
		cli.OnRuntime(r.mergeCommand(), 0),
		cli.OnRuntime(r.pushCommand(), 0),
		cli.OnRuntime(r.rmCommand(), 0),
		cli.OnRuntime(r.restoreCommand(), 0),
		cli.OnRuntime(r.pruneCommand(), 0),
		r.importCommand(),
		cli.OnRuntime(r.repairCommand(), 0),
		r.sandboxCommand(),
		cli.OnRuntime(r.trustCommand(), 0),
	}
}

// commands are this package's commands. They share one run of the command line.
type commands struct{ *cli.CLI }
