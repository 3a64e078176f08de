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
				_, err := fmt.Fprintln(c.Out, build.Line())
				return err
			})
		},
	}
}
