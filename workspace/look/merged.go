package look

import (
	"context"
	"slices"

	"middleman/internal/git"
	"middleman/workspace/model"
)

// merged moves what commits has found to Loss.Merged if the base has all that these
// commits change, as after a squash or a rebase, here or on a forge: then no work is lost
// with them. from are the newest ones. A commit that changes nothing, or whose changes
// another one takes back, is not there. If that cannot be found out, they stay.
func (l *collector) merged(ctx context.Context, p git.Dirs, w model.Workspace, from []string) error {
	if len(l.loss.Commits) == 0 || w.Base == "" || model.IsChange(w.Base) {
		return nil
	}
	g, err := (&git.Views{}).Open(ctx, p)
	if err != nil {
		return ctx.Err()
	}
	defer g.Close()
	_, base, err := baseNow(ctx, g, w)
	if err != nil {
		return ctx.Err()
	}
	bases := []string{base}
	if upstream, err := g.Commit(ctx, w.Base+"@{upstream}"); err == nil && upstream != "" {
		bases = append(bases, upstream)
	}
	for _, commit := range from {
		if !slices.ContainsFunc(bases, func(base string) bool { return hasChanges(ctx, g, base, commit) }) {
			return ctx.Err()
		}
	}
	l.loss.Merged, l.loss.Commits = l.loss.Commits, nil
	return nil
}

// hasChanges reports whether commit changes something since it left base, and a merge of
// it would change nothing in base.
func hasChanges(ctx context.Context, g *git.View, base, commit string) bool {
	common, err := mergeBase(ctx, g, base, commit)
	if err != nil || common == "" {
		return false
	}
	trees := map[string]string{}
	for _, c := range []string{common, base, commit} {
		if trees[c], err = g.Look("rev-parse", "--verify", "--quiet", "--end-of-options", c+"^{tree}").Line(ctx); err != nil || trees[c] == "" {
			return false
		}
	}
	if trees[common] == trees[commit] {
		return false
	}
	c := g.Look("merge-tree", "--write-tree", "--no-messages", base, commit)
	c.Limit = mergeTime
	tree, err := c.Line(ctx)
	return err == nil && tree == trees[base]
}
