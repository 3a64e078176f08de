// Command middleman manages workspaces whose terminals outlive everything but
// their own program. This package is wiring: it names the commands, which are
// in rooms of their own, and joins them to the command line.
package main

import (
	"os"
	"strings"

	"github.com/spf13/cobra"

	"middleman/cmd/middleman/internal/catalog"
	"middleman/cmd/middleman/internal/cli"
	_ "middleman/cmd/middleman/internal/helper" // runs the helper processes instead
	"middleman/cmd/middleman/internal/launch"
	"middleman/cmd/middleman/internal/sessions"
	"middleman/cmd/middleman/internal/workspaces"
)

func main() {
	c := cli.New(os.Stdin, os.Stdout, os.Stderr)
	os.Exit(c.Run(os.Args[1:], commands{c}.all()...))
}

// commands are the commands of the command line.
type commands struct{ *cli.CLI }

func (c commands) all() []*cobra.Command {
	all := []*cobra.Command{
		c.serveCommand(),
		c.openCommand(), c.loginCommand(), c.doctorCommand(), c.serviceCommand(),
		c.upgradeCommand(), c.versionCommand(), c.completionCommand(),
		c.auditCommand(), c.tokenCommand(),
	}
	all = append(all, sessions.Commands(c.CLI)...)
	all = append(all, workspaces.Commands(c.CLI)...)
	all = append(all, launch.Commands(c.CLI)...)
	for _, cmd := range all {
		if cmd.ValidArgsFunction != nil {
			continue
		}
		if strings.Contains(cmd.Use, " TARGET") || strings.Contains(cmd.Use, " WORKSPACE") {
			cmd.ValidArgsFunction = catalog.Complete(c.CLI)
		}
	}
	return all
}
