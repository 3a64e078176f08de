package sessions

import (
	"fmt"

	"github.com/spf13/cobra"

	"middleman/cmd/middleman/internal/catalog"
	"middleman/cmd/middleman/internal/cli"
	"middleman/tmux"
)

func (c commands) tmuxCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "tmux [TARGET]",
		Short: "Print the command that attaches to a session's tmux pane by hand",
		Long: `Print the command that attaches to a session's tmux pane by hand, with tmux's own
keys, copy mode and mouse. The program gets what you type there as well as what
an attached viewer types. Without TARGET the command attaches to the tmux server
of all sessions.

    eval "$(middleman tmux TARGET)"`,
		Args: cli.Args(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, given []string) error {
			id := ""
			if len(given) > 0 {
				t, err := catalog.Find(cmd.Context(), c.CLI, given[0])
				if err != nil {
					return err
				}
				if t.Shown.Backend != tmux.Name {
					return fmt.Errorf("session %s has no tmux pane, because tmux does not host it; `middleman attach %s` attaches to it", t.Label(), given[0])
				}
				id = t.Shown.ID
			}
			command, err := c.TmuxServer().ByHand(cmd.Context(), id)
			if err != nil {
				return err
			}
			return c.Print(map[string]any{"command": command}, func() error {
				_, err := fmt.Fprintln(c.Out, command)
				return err
			})
		},
	}
}
