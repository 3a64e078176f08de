package look

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"middleman/internal/git"
	"middleman/internal/plaintext"
	"middleman/workspace/model"
)

// distance returns how far head is from the current base of w.
func (i *Inspector) distance(ctx context.Context, g *git.View, head string, w model.Workspace) (Distance, error) {
	of, commit, err := baseNow(ctx, g, w)
	if err != nil {
		return Distance{}, err
	}
	d := Distance{Of: plaintext.Quoted(of)}
	if commit == head {
		return d, nil
	}
	// The counts depend only on the two commits, unless the history is shallow:
	// a fetch may move its boundary.
	key := head + " " + commit + " " + stamp(filepath.Join(g.Repository, "shallow"))
	counts, known := i.distances.Get(key)
	if !known {
		if counts, err = countBetween(ctx, g, head, commit); err != nil {
			return Distance{}, err
		}
		i.distances.Put(key, counts)
	}
	d.Ahead, d.Behind = counts[0], counts[1]
	return d, nil
}

// countBetween counts the commits that only head has, and those only other has.
func countBetween(ctx context.Context, g *git.View, head, other string) (counts [2]int, err error) {
	c := g.Look("rev-list", "--left-right", "--count", head+"..."+other, "--")
	c.Limit = statusTime
	out, err := c.Line(ctx)
	if err != nil {
		return counts, err
	}
	if n, err := fmt.Sscanf(out, "%d\t%d", &counts[0], &counts[1]); err != nil || n != 2 {
		return counts, fmt.Errorf("git rev-list --count printed %s, which middleman does not understand", plaintext.Quoted(out))
	}
	return counts, nil
}

// mergeBase returns the first merge base of two commits, or "" if they have no history in
// common.
func mergeBase(ctx context.Context, g *git.View, one, other string) (string, error) {
	all, err := g.Look("merge-base", one, other).Line(ctx)
	if git.ExitCode(err) == 1 {
		return "", nil
	}
	first, _, _ := strings.Cut(all, "\n")
	return first, err
}

// baseNow returns the name of w's base and its current commit. If no branch or
// tag has that name, it returns the commit at which the workspace began.
func baseNow(ctx context.Context, g *git.View, w model.Workspace) (name, commit string, err error) {
	name = w.Base
	if name == "" {
		return "", "", fmt.Errorf("workspace %s has no base: %w", w.Name, model.ErrBadBase)
	}
	candidates := []string{"refs/heads/" + name, "refs/remotes/" + name, "refs/tags/" + name}
	if strings.HasPrefix(name, "refs/") {
		candidates = []string{name}
	}
	found := map[string]string{}
	c := g.Look(append([]string{"for-each-ref", "--format=%(refname) %(objectname) %(*objectname)"}, candidates...)...)
	c.Lines, c.Limit = true, statusTime
	c.Each = func(line string) {
		if fields := strings.Fields(line); len(fields) > 1 {
			found[fields[0]] = fields[len(fields)-1] // for a tag, the commit that it points at
		}
	}
	if _, err := c.Run(ctx); err != nil {
		return "", "", err
	}
	for _, ref := range candidates {
		if commit := found[ref]; commit != "" {
			return name, commit, nil
		}
	}
	if w.BaseCommit == "" {
		return "", "", fmt.Errorf("base %s: %w", plaintext.Quoted(name), model.ErrBadBase)
	}
	return name + " as it was", w.BaseCommit, nil
}
