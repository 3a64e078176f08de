package cli

import (
	"context"
	"path"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"middleman/internal/client"
	"middleman/internal/runtime"
)

const onRuntime = "on-runtime"

// OnRuntime marks a command whose arguments, from the one with the index first on,
// may be RUNTIME:TARGET. Before such a command runs, CLI.Runtime is set, and each
// argument is the TARGET alone.
func OnRuntime(cmd *cobra.Command, first int) *cobra.Command {
	if cmd.Annotations == nil {
		cmd.Annotations = map[string]string{}
	}
	cmd.Annotations[onRuntime] = strconv.Itoa(first)
	return cmd
}

// redirect sets c.Runtime by the arguments of a command that OnRuntime has marked.
// cobra hands the same slice to the command.
func (c *CLI) redirect(cmd *cobra.Command, args []string) error {
	first, err := strconv.Atoi(cmd.Annotations[onRuntime])
	if err != nil {
		return refuseRuntime(cmd, args)
	}
	last := len(args)
	if dash := cmd.ArgsLenAtDash(); dash >= 0 {
		last = dash
	}
	several := takesSeveral(cmd)
	for i := first; i < last && (i == first || several); i++ {
		name, target := runtime.Split(args[i])
		if i > first && name != c.Runtime {
			return Usagef("%s takes targets of one runtime at a time", cmd.Name())
		}
		c.Runtime, args[i] = name, target
	}
	return nil
}

// refuseRuntime returns an error if the first argument of a command that OnRuntime has
// not marked is a target on a runtime.
func refuseRuntime(cmd *cobra.Command, args []string) error {
	_, takes, _ := strings.Cut(cmd.Use, " ")
	takes = strings.TrimPrefix(takes, "[")
	if len(args) == 0 || cmd.ArgsLenAtDash() == 0 || !strings.HasPrefix(takes, "TARGET") && !strings.HasPrefix(takes, "WORKSPACE") {
		return nil
	}
	if name, target := runtime.Split(args[0]); name != "" {
		return Usagef("%s does not go to other machines: use it on that of %s, as `middleman %s %s`", cmd.Name(), name, cmd.Name(), target)
	}
	return nil
}

// Directory returns the absolute path of dir. On a runtime a relative one begins at
// the user's home directory there, which only the runtime knows.
func (c *CLI) Directory(dir string) (string, error) {
	switch {
	case c.Runtime == "":
		return Absolute(dir)
	case path.IsAbs(dir) || dir == "~" || strings.HasPrefix(dir, "~/"):
		return path.Clean(dir), nil
	}
	return path.Join("~", dir), nil
}

// Target returns what to type for something on c.Runtime, if that is set.
func (c *CLI) Target(name string) string { return client.Target(c.Runtime, name) }

// Connect returns a client of the running server, or of the runtime that the
// command's target names, by the server, which it then starts where none runs. The
// caller closes the client.
func (c *CLI) Connect(ctx context.Context) (*client.Client, error) {
	if c.Runtime != "" {
		return c.Server(ctx)
	}
	return client.Connect(ctx, c.Dirs)
}

// takesSeveral reports whether the usage of cmd has a list of targets.
func takesSeveral(cmd *cobra.Command) bool {
	return strings.Contains(cmd.Use, "TARGET...") || strings.Contains(cmd.Use, "WORKSPACE...")
}
