package finish

import (
	"context"
	"slices"

	"middleman/internal/git"
	"middleman/workspace/look"
)

// uncommitted returns the files of the checkout at dirs that its commit does not have as
// they are, untracked ones too. With Filters it is judged as the user's own `git status`
// does it, so the filters run: they may store a file in another form than the checkout
// has. Otherwise no program of the repository runs.
func (m *merge) uncommitted(ctx context.Context, dirs git.Dirs) (map[string]bool, error) {
	if m.r.Filters {
		if _, err := git.ConsentedTransport(ctx, dirs, true); err != nil {
			return nil, err
		}
		return look.Uncommitted(ctx, dirs.Look)
	}
	g, err := m.inspector.View(ctx, dirs)
	if err != nil {
		return nil, err
	}
	defer g.Close()
	return look.Uncommitted(ctx, g.Look)
}

// touched returns which of some files are uncommitted in the checkout at dirs, sorted and
// quoted.
func (m *merge) touched(ctx context.Context, dirs git.Dirs, of map[string]bool) ([]string, error) {
	files, err := m.uncommitted(ctx, dirs)
	if err != nil {
		return nil, err
	}
	var both []string
	for path := range files {
		if of[path] {
			both = append(both, path)
		}
	}
	slices.Sort(both)
	return quoted(both), nil
}
