// Package launch has the commands that start something: new, run, spawn and
// retry. They ask the server for a workspace or a session, and then attach to
// the session past the server.
package launch

import (
	"github.com/spf13/cobra"

	"middleman/cmd/middleman/internal/cli"
)

// Commands are the commands of this package, for the run c.
func Commands(c *cli.CLI) []*cobra.Command {
	r := commands{c}
	return []*cobra.Command{
		r.newCommand(),
		r.runCommand(),
		r.spawnCommand(),
		r.retryCommand(),
	}
}

// commands are this package's commands; they share a run of the command line.
type commands struct{ *cli.CLI }
