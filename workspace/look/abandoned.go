package look

import (
	"context"
	"slices"

	"middleman/internal/git"
)

// maxReflog limits how many entries of a worktree's HEAD reflog git reads,
// newest first.
const maxReflog = "--max-count=1000"

// abandoned adds the commits that only the worktree's own HEAD reflog or its
// refs/worktree hold. Amending and rebasing leave such commits all the time, so
// they do not stop a delete. An unreadable reflog does not stop it either: the
// list then says so. head is the commit of HEAD, or "".
func (l *collector) abandoned(ctx context.Context, p git.Dirs, head string) error {
	err := l.unreferenced(ctx, p, head)
	if err != nil && git.ExitCode(err) >= 0 {
		l.add(&l.loss.Abandoned, "what the reflog holds: "+err.Error())
		return nil
	}
	return err
}

func (l *collector) unreferenced(ctx context.Context, p git.Dirs, head string) error {
	var from []string
	c := p.Look("rev-list", "--walk-reflogs", "--no-commit-header", "--format=%H", maxReflog, "HEAD", "--")
	c.Lines = true
	c.Each = func(commit string) { from = append(from, commit) }
	if head != "" {
		if _, err := c.Run(ctx); err != nil {
			return err
		}
	}
	slices.Sort(from)
	// Commits of HEAD and the branch are listed as work elsewhere. --all means
	// every ref and the HEAD of every worktree.
	args := append([]string{"--ignore-missing"}, slices.Compact(from)...)
	args = append(args, "--glob=refs/worktree/*", "--not", "--exclude=refs/worktree/*", "--all")
	return l.history(ctx, p, &l.loss.Abandoned, args, "%h %s")
}
