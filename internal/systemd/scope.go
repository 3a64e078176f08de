package systemd

import (
	"context"
	"fmt"
	"os/exec"
)

// scopePrefix begins the names of our scopes.
const scopePrefix = "middleman-"

// SessionScope returns the name of the scope of a session's owner.
func SessionScope(session string) string { return scopePrefix + session + ".scope" }

// Start starts the command that command returns. If this process runs in a
// service or in a scope of ours, Start puts it into a new transient scope of
// that name, so that ending one unit does not end the other. Elsewhere it
// starts it directly.
//
// If the scope cannot be made Start starts the command without one, and outside
// says why. The command does not begin to run before that is decided. command
// may be called twice. What it returns keeps its standard streams, descriptors
// and environment. The environment must be set, and must hold no secret: other
// processes can see it among the arguments for a moment.
func Start(ctx context.Context, scope string, command func() *exec.Cmd) (cmd *exec.Cmd, outside, err error) {
	cmd = command()
	scoped, outside := startScoped(ctx, scope, cmd)
	if scoped {
		return cmd, nil, nil
	}
	if outside != nil {
		if ctx.Err() != nil {
			return nil, outside, ctx.Err()
		}
		outside = fmt.Errorf("start %s: %w", scope, outside)
		cmd = command()
	}
	return cmd, outside, cmd.Start()
}
