package admin

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"middleman/cmd/middleman/internal/build"
	"middleman/cmd/middleman/internal/cli"
)

func (c commands) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:               "version",
		Short:             "Print the version",
		Args:              cli.Args(cobra.NoArgs),
		PersistentPreRunE: func(*cobra.Command, []string) error { return nil },
		RunE: func(*cobra.Command, []string) error {
			b := struct {
				Version string `json:"version"`
				Go      string `json:"go"`
				OS      string `json:"os"`
				Arch    string `json:"arch"`
			}{build.Version(), runtime.Version(), runtime.GOOS, runtime.GOARCH}
			return c.Print(b, func() error {
				_, err := fmt.Fprintf(c.Out, "middleman %s %s %s/%s\n", b.Version, b.Go, b.OS, b.Arch)
				return err
			})
		},
	}
}

func (c commands) completionCommand() *cobra.Command {
	return &cobra.Command{
		Use:       "completion bash|zsh|fish|powershell",
		Short:     "Print a shell's completion script",
		ValidArgs: []string{"bash", "zsh", "fish", "powershell"},
		Args:      cli.Args(cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs)),
		RunE: func(cmd *cobra.Command, given []string) error {
			switch root := cmd.Root(); given[0] {
			case "bash":
				return root.GenBashCompletionV2(c.Out, true)
			case "zsh":
				return root.GenZshCompletion(c.Out)
			case "fish":
				return root.GenFishCompletion(c.Out, true)
			default:
				return root.GenPowerShellCompletionWithDesc(c.Out)
			}
		},
	}
}
