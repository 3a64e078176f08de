package look

import (
	"context"
	"fmt"
	"strings"

	"middleman/internal/git"
	"middleman/workspace/model"
)

// Tip is what a workspace's checkout has.
type Tip struct {
	View        *git.View       // the caller closes it
	Dirs        git.Dirs        // the checkout itself
	Branch      string          // "" if HEAD is detached
	Head        string          // the commit of HEAD
	Operation   string          // see Operation
	Uncommitted map[string]bool // judged without the filters of the repository's own configuration
}

// Tip reads what the checkout of the worktree w has. It refuses one whose .git
// file leads elsewhere: what was committed there is not in w's repository.
func (i *Inspector) Tip(ctx context.Context, w model.Workspace) (t Tip, err error) {
	p, warnings, err := i.checkout(ctx, w)
	if err == nil && len(warnings) > 0 {
		err = fmt.Errorf("%s: %w", strings.Join(warnings, "; "), model.ErrUnknown)
	}
	if err != nil {
		return Tip{}, fmt.Errorf("look at workspace %s: %w", w.Name, err)
	}
	s, err := i.side(ctx, w)
	if err != nil {
		return Tip{}, err
	}
	t = Tip{View: s.g, Dirs: p, Head: s.head, Uncommitted: s.dirty, Operation: Operation(p)}
	ref, err := s.g.Look("symbolic-ref", "--quiet", "HEAD").Line(ctx)
	if err != nil && git.ExitCode(err) != 1 { // status 1: HEAD is detached
		s.g.Close()
		return Tip{}, fmt.Errorf("look at workspace %s: %w", w.Name, err)
	}
	t.Branch = strings.TrimPrefix(ref, "refs/heads/")
	return t, nil
}

// View opens a view of the checkout at p whose commands all run in a sandbox if
// there is one. The caller closes it.
func (i *Inspector) View(ctx context.Context, p git.Dirs) (*git.View, error) {
	g, err := i.views.Open(ctx, p)
	if err == nil {
		g.Boxed = true
	}
	return g, err
}
