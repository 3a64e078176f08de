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
keys, copy mode and mouse. Who types there types beside whoever is attached.
Without TARGET, the command for the server of all of them.

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
					return fmt.Errorf("session %s has no tmux pane: it is on a terminal of its own; `middleman attach %s` attaches", t.Label(), given[0])
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
