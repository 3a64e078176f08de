package workspace

import (
	"context"
	"fmt"
	"os/exec"
	"strings"

	"middleman/internal/git"
	"middleman/internal/plaintext"
)

// lfs fetches the LFS files that the checkout left as pointers, if there are
// any. The workspace is usable without them, so a failure is reported and is no
// error.
func (c *checkout) lfs(ctx context.Context) error {
	count := 0
	list := c.at.Look("ls-files", "-z", "--", ":(attr:filter=lfs)")
	list.Each = func(string) { count++ }
	if _, err := list.Run(ctx); err != nil || count == 0 {
		return err
	}
	err := c.report.Detailed("lfs", func() (string, error) { return c.way.Note(), c.pull(ctx, count) })
	if err != nil && ctx.Err() != nil {
		return err
	}
	return nil
}

func (c *checkout) pull(ctx context.Context, count int) error {
	left := fmt.Sprintf("%d files of Git LFS are still pointers", count)
	if _, err := exec.LookPath("git-lfs"); err != nil {
		return fmt.Errorf("%s: git-lfs is not installed", left)
	}
	if own, err := c.lfsPrograms(ctx); err != nil || own != "" && !c.filters {
		if err != nil {
			return err
		}
		return fmt.Errorf("%s: the repository's configuration names a program for them (%s); --filters allows it", left, own)
	}
	cmd := c.way.Over(c.at.Alter("lfs", "pull"))
	cmd.Dir = c.w.Root
	if _, err := cmd.Run(ctx); err != nil {
		return fmt.Errorf("%s, `git lfs pull` fetches them: %w", left, c.way.Explain(err))
	}
	return nil
}

// lfsPrograms returns a setting of the repository's own configuration that
// makes git-lfs run a program, or "".
func (c *checkout) lfsPrograms(ctx context.Context) (found string, err error) {
	scope := ""
	list := c.at.Look("config", "--null", "--show-scope", "--get-regexp", `^lfs\.(customtransfer|extension|standalonetransferagent)|\.standalonetransferagent$`)
	list.Each = func(record string) {
		if scope == "" {
			scope = record
			return
		}
		if scope == "local" || scope == "worktree" {
			found, _, _ = strings.Cut(record, "\n")
		}
		scope = ""
	}
	if _, err := list.Run(ctx); err != nil && git.ExitCode(err) != 1 { // status 1: there is no such setting
		return "", err
	}
	return plaintext.Quoted(found), nil
}
