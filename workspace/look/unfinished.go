package look

import (
	"context"
	"path/filepath"
	"slices"

	"middleman/internal/git"
	"middleman/internal/plaintext"
	"middleman/internal/scratch"
	"middleman/workspace/model"
)

// Unfinished returns what a program or the user wrote into the worktree at p,
// which has no index.
func Unfinished(ctx context.Context, p git.Dirs) (model.Loss, error) {
	l := &collector{}
	err := l.unfinished(ctx, p)
	return l.loss, err
}

// unfinished adds what a program or the user wrote into a worktree without an
// index: files that differ from HEAD. Missing files, and files that hold only
// their beginning, are no loss.
func (l *collector) unfinished(ctx context.Context, p git.Dirs) error {
	dir, err := scratch.Make("index")
	if err != nil {
		return err
	}
	defer dir.Close()
	p.Index = filepath.Join(dir.Path, "index")
	config, err := p.WithoutFilters(ctx)
	if err != nil {
		return err
	}
	config["core.splitIndex"] = "false" // else git would write a part beside the real index
	missing, cut, err := p.Unfilled(ctx, func(args ...string) git.Command {
		c := p.Look(args...)
		c.Config = config
		return c
	})
	if err != nil {
		return err
	}
	found := &collector{}
	if err := found.files(ctx, p, ""); err != nil {
		return err
	}
	gits := map[string]bool{}
	for _, path := range slices.Concat(missing, cut) {
		gits[plaintext.Quoted(path)] = true
	}
	for _, path := range found.loss.Changed {
		if !gits[path] {
			l.loss.Changed = append(l.loss.Changed, path)
		}
	}
	l.loss.Untracked = append(l.loss.Untracked, found.loss.Untracked...)
	l.loss.Ignored = append(l.loss.Ignored, found.loss.Ignored...)
	l.loss.Truncated = l.loss.Truncated || found.loss.Truncated
	l.ignoredPaths, l.repositories = found.ignoredPaths, found.repositories
	return nil
}
