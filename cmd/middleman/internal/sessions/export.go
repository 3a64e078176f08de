package sessions

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"middleman/cmd/middleman/internal/catalog"
	"middleman/cmd/middleman/internal/cli"
	"middleman/internal/plaintext"
	"middleman/internal/private"
)

func (c commands) exportCommand() *cobra.Command {
	var (
		file  string
		force bool
	)
	cmd := &cobra.Command{
		Use:   "export TARGET [-o FILE] [--force]",
		Short: "Write a session's kept output as an asciicast v2, for a player",
		Args:  cli.Args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, given []string) error {
			t, err := catalog.Recorded(cmd.Context(), c.CLI, given[0])
			if err != nil {
				return err
			}
			if file == "" || file == "-" {
				out := plaintext.NewJSONWriter(c.BytesOut)
				err = errors.Join(writeRecording(cmd.Context(), out, t), out.Flush())
			} else {
				err = exportFile(cmd.Context(), file, force, t)
			}
			if err != nil {
				return fmt.Errorf("export %s: %w", t.Label(), err)
			}
			return nil
		},
	}
	cmd.Flags().StringVarP(&file, "output", "o", "", "write to `FILE` instead of standard output")
	cmd.Flags().BoolVar(&force, "force", false, "replace an existing file")
	return cmd
}

func writeRecording(ctx context.Context, w io.Writer, t catalog.Target) error {
	r, err := t.Session.Recording(ctx)
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(w, 64<<10)
	_, err = io.Copy(out, whileWanted{ctx.Err, r})
	return errors.Join(err, out.Flush(), r.Close())
}

// whileWanted is a reader that fails once over returns an error.
type whileWanted struct {
	over func() error
	from io.Reader
}

func (w whileWanted) Read(p []byte) (int, error) {
	if err := w.over(); err != nil {
		return 0, err
	}
	return w.from.Read(p)
}

// exportFile writes a recording with mode 0600 and puts it in place when it is
// complete. Without force it first creates the file exclusively, so that it
// replaces none.
func exportFile(ctx context.Context, path string, force bool, t catalog.Target) (err error) {
	if !force {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
		if errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("%s exists already: --force replaces it", path)
		}
		if err != nil {
			return err
		}
		f.Close()
	}
	err = private.ReplaceWith(path, private.ThisBoot, func(f *os.File) error { return writeRecording(ctx, f, t) })
	if err != nil && !force {
		os.Remove(path) // the empty file from above
	}
	return err
}
