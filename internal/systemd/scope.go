package systemd

import (
	"context"
	"fmt"
	"os/exec"
)

// scopePrefix is what the names of our scopes begin with.
const scopePrefix = "middleman-"

// SessionScope names the scope of a session's owner.
func SessionScope(session string) string { return scopePrefix + session + ".scope" }

// Start starts what command returns: where this process runs in a service, or
// in a scope of ours, in a transient scope of that name, so that the end of
// the one is not the other's; anywhere else as it is.
//
// Where the scope cannot be had the command is started without one, and
// outside says why. In no case does it begin to run before that is settled.
// command may be called twice; what it returns is started with the standard
// streams, descriptors and environment that it has. The environment must be
// set, and must hold no secret: it is in the arguments for a moment.
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
