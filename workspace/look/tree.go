package look

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"middleman/internal/watch"
	"middleman/workspace/model"
)

// maxIgnored limits how many ignored directories a watched tree can have.
const maxIgnored = 100_000

// Tree returns the directories in which a change can change the status of w:
// those of its checkout that are not ignored, and of its git directory those
// that change with HEAD and index. What else counts is in the mark.
func (i *Inspector) Tree(ctx context.Context, w model.Workspace) (_ watch.Tree, err error) {
	defer model.Containing(w.Name, &err)
	p, _, err := i.checkout(ctx, w)
	if err != nil {
		return watch.Tree{}, fmt.Errorf("find the directories of workspace %s: %w", w.Name, err)
	}
	g, err := i.views.Open(ctx, p)
	if err != nil {
		return watch.Tree{}, fmt.Errorf("find the directories of workspace %s: %w", w.Name, err)
	}
	defer g.Close()
	t := watch.Tree{Root: p.WorkTree, Skip: map[string]bool{}, Also: []string{
		p.GitDir, filepath.Join(p.GitDir, "logs"), filepath.Join(p.CommonDir, "info"),
	}}
	c := g.Look("status", "--porcelain=v2", "-z", "--untracked-files=normal", "--ignored=matching", "--no-renames", "--ignore-submodules=all")
	c.Limit = statusTime
	c.Each = func(record string) {
		name, ignored := strings.CutPrefix(record, "! ")
		if dir, ok := strings.CutSuffix(name, "/"); ok && ignored && len(t.Skip) <= maxIgnored {
			t.Skip[dir] = true
		}
	}
	if _, err := c.Run(ctx); err != nil {
		return watch.Tree{}, fmt.Errorf("find the ignored directories of workspace %s: %w", w.Name, err)
	}
	if len(t.Skip) > maxIgnored {
		return watch.Tree{}, fmt.Errorf("workspace %s has more than %d ignored directories: %w", w.Name, maxIgnored, watch.ErrTooLarge)
	}
	return t, nil
}
