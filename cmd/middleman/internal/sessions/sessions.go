// Package sessions has the commands on existing sessions: attach and watch,
// send, capture, logs, search, export, wait, events, status, report, approvals,
// approve, deny, stop and tmux. Most reach the session through its backend, without
// the server. logs --setup, wait --workers, send --prompt, events, report and the
// commands of approvals need the server.
package sessions

import (
	"github.com/spf13/cobra"

	"middleman/cmd/middleman/internal/cli"
)

// Commands returns the commands of this package for the run c.
func Commands(c *cli.CLI) []*cobra.Command {
	r := commands{c}
	return []*cobra.Command{
		cli.OnRuntime(r.attachCommand(), 0),
		cli.OnRuntime(r.watchCommand(), 0),
		cli.OnRuntime(r.sendCommand(), 0),
		cli.OnRuntime(r.captureCommand(), 0),
		cli.OnRuntime(r.logsCommand(), 0),
		cli.OnRuntime(r.searchCommand(), 1),
		cli.OnRuntime(r.exportCommand(), 0),
		cli.OnRuntime(r.waitCommand(), 0),
		cli.OnRuntime(r.eventsCommand(), 0),
		cli.OnRuntime(r.statusCommand(), 0),
		cli.OnRuntime(r.approvalsCommand(), 0),
		cli.InSandbox(cli.OnRuntime(r.approveCommand(), 0)),
		cli.OnRuntime(r.denyCommand(), 0),
		cli.InSandbox(r.reportCommand()),
		cli.OnRuntime(r.stopCommand(), 0),
		r.tmuxCommand(),
	}
}

// commands are this package's commands. They share one run of the command line.
type commands struct{ *cli.CLI }
