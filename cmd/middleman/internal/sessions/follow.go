package sessions

import (
	"context"
	"fmt"

	"middleman/cmd/middleman/internal/catalog"
	"middleman/cmd/middleman/internal/cli"
	"middleman/internal/api"
)

// Follow prints a session's bytes until its program exits, and returns that
// exit as a *cli.ProgramExit.
func Follow(ctx context.Context, c *cli.CLI, s api.Session) error {
	t, err := catalog.Direct(c, s)
	if err != nil {
		return fmt.Errorf("follow %s: %w", catalog.Label(s), err)
	}
	exit, err := commands{c}.logs(ctx, t, logsOptions{follow: true, raw: true})
	if err != nil {
		return fmt.Errorf("follow %s: %w", catalog.Label(s), err)
	}
	return &cli.ProgramExit{Exit: *exit}
}
