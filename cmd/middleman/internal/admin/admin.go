// Package admin has the commands on middleman itself: serve and server, its service,
// logins and tokens, the audit log, settings, doctor, upgrade, version,
// completion and the manual.
package admin

import (
	"github.com/spf13/cobra"

	"middleman/cmd/middleman/internal/cli"
)

// Commands returns the commands of this package for the run c.
func Commands(c *cli.CLI) []*cobra.Command {
	r := commands{c}
	return []*cobra.Command{
		r.serveCommand(),
		r.serverCommand(),
		r.serviceCommand(),
		r.openCommand(),
		r.loginCommand(),
		r.tokenCommand(),
		r.auditCommand(),
		r.configCommand(),
		r.doctorCommand(),
		r.upgradeCommand(),
		r.versionCommand(),
		r.completionCommand(),
		r.manCommand(),
	}
}

// commands are this package's commands. They share one run of the command line.
type commands struct{ *cli.CLI }
