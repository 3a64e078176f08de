package look

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"middleman/internal/git"
	"middleman/internal/plainfile"
)

// maxReflog limits how many entries of a worktree's HEAD reflog git reads,
// newest first.
const maxReflog = "--max-count=1000"

// maxPlainLog bounds the bytes of a reflog that we read ourselves.
const maxPlainLog = 64 << 10

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
	if onlyHead(p, head) {
		return nil
	}
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

// onlyHead reports whether the reflog of the checkout at p has no other commit than
// head, and the checkout no refs of its own, so that git need not be asked. It reports
// false for what it cannot read.
func onlyHead(p git.Dirs, head string) bool {
	if _, err := os.Lstat(filepath.Join(p.GitDir, "refs", "worktree")); !errors.Is(err, fs.ErrNotExist) {
		return false
	}
	log, err := plainfile.ReadFollowed(filepath.Join(p.GitDir, "logs", "HEAD"), maxPlainLog)
	if err != nil || head == "" || len(log) == 0 {
		return false
	}
	none := strings.Repeat("0", len(head))
	for line := range strings.Lines(string(log)) {
		before, rest, _ := strings.Cut(line, " ")
		after, _, whole := strings.Cut(rest, " ")
		if !whole || after != head || before != head && before != none {
			return false
		}
	}
	return true
}
