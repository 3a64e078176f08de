package cli

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"middleman/internal/config"
	"middleman/internal/sandbox"
)

// Sandboxed reports whether this process runs in the sandbox of a session. It
// finds out what it may do there, and protects nothing.
func Sandboxed() bool { return os.Getenv(sandbox.LevelVariable) != "" }

const inSandbox = "in-sandbox"

// InSandbox marks a command that works in a sandboxed session too.
func InSandbox(cmd *cobra.Command) *cobra.Command {
	if cmd.Annotations == nil {
		cmd.Annotations = map[string]string{}
	}
	cmd.Annotations[inSandbox] = "yes"
	return cmd
}

// NotSandboxed returns the error for what does not work in a sandboxed session.
func NotSandboxed(what string) error {
	return fmt.Errorf("%s does not work inside the sandbox (this session has level %s): only report, approve --agent, spawn -d, version and help do; run it outside",
		what, os.Getenv(sandbox.LevelVariable))
}

// prepareSandboxed is prepare in a sandboxed session, which sees neither
// directories nor settings of middleman.
func (c *CLI) prepareSandboxed(cmd *cobra.Command) error {
	if cmd.Annotations[inSandbox] == "" {
		return NotSandboxed(cmd.CommandPath())
	}
	c.Config = config.Default()
	return nil
}
