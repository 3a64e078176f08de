// Package launch has the commands that start something: new, run, spawn,
// resume and retry, and profile and bundle, which tell what can be started. They ask the server for a workspace or a session. Then they attach to
// the session without the server.
package launch

import (
	"github.com/spf13/cobra"

	"middleman/cmd/middleman/internal/cli"
)

// Commands returns the commands of this package for the run c.
func Commands(c *cli.CLI) []*cobra.Command {
	r := commands{c}
	return []*cobra.Command{
		r.newCommand(),
		cli.OnRuntime(r.runCommand(), 0),
		cli.InSandbox(r.spawnCommand()),
		cli.OnRuntime(r.resumeCommand(), 0),
		cli.OnRuntime(r.retryCommand(), 0),
		r.profileCommand(),
		r.bundleCommand(),
	}
}

// commands are this package's commands. They share one run of the command line.
type commands struct{ *cli.CLI }
