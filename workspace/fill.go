package workspace

import (
	"context"
	"os"
	"path/filepath"
	"strings"
)

// filledIndex is the index of a checkout that goes on where another was cut
// short, until that is whole.
const filledIndex = "middleman-index"

// fillUp goes on with a checkout that was cut short: files that are missing,
// and those of which only the beginning is there. All else that is not as git
// has it was written by somebody, and stays.
func (c *checkout) fillUp(ctx context.Context) error {
	index := filepath.Join(c.at.GitDir, filledIndex)
	c.at.Index = index
	defer func() { c.at.Index = "" }()
	missing, cut, err := c.at.Unfilled(ctx, c.alter)
	if err != nil {
		return err
	}
	if err := c.write(ctx, missing); err != nil {
		return err
	}
	if err := c.write(ctx, cut, "--force"); err != nil {
		return err
	}
	return os.Rename(index, filepath.Join(c.at.GitDir, "index"))
}

// write has git write files.
func (c *checkout) write(ctx context.Context, paths []string, flags ...string) error {
	if len(paths) == 0 {
		return nil
	}
	cmd := c.alter(append([]string{"checkout-index", "-z", "--index", "--stdin"}, flags...)...)
	cmd.Stdin = strings.NewReader(strings.Join(paths, "\x00") + "\x00")
	_, err := cmd.Run(ctx)
	return err
}
