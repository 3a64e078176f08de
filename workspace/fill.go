package workspace

import (
	"context"
	"os"
	"path/filepath"
	"strings"
)

// filledIndex is the name of the index while fillUp completes a checkout. Then
// it becomes the real index.
const filledIndex = "middleman-index"

// fillUp completes an interrupted checkout. It writes missing files, and those
// of which only the beginning was written. Other files that differ from git's
// were changed by a program or the user, and stay.
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

// write makes git write these files.
func (c *checkout) write(ctx context.Context, paths []string, flags ...string) error {
	if len(paths) == 0 {
		return nil
	}
	cmd := c.alter(append([]string{"checkout-index", "-z", "--index", "--stdin"}, flags...)...)
	cmd.Stdin = strings.NewReader(strings.Join(paths, "\x00") + "\x00")
	_, err := cmd.Run(ctx)
	return err
}
