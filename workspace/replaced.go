package workspace

import (
	"context"
	"fmt"
	"path/filepath"

	"middleman/internal/git"
	"middleman/internal/plaintext"
)

// unkeepable is err, of a look at w, with what would stop a delete with
// consent as well, if that is known already: it keeps what it destroys, and
// for that git has to answer.
func unkeepable(ctx context.Context, w Workspace, err error) error {
	if w.Mode != ModeWorktree || ctx.Err() != nil {
		return err
	}
	entry, entryErr := git.FindEntry(w.GitDir, w.Root)
	if entryErr != nil || entry == "" {
		return err // the directory itself would be kept
	}
	why := answers(ctx, git.Dirs{GitDir: entry, CommonDir: w.GitDir})
	if why == nil {
		return err
	}
	return fmt.Errorf("%w (and %w: %w)", err, ErrNotKept, why)
}

// answers reports why git cannot keep what is at p, as far as it takes no
// writing to find out.
func answers(ctx context.Context, p git.Dirs) error {
	c := p.Look("hash-object", "--stdin")
	object, err := c.Line(ctx)
	if err == nil && !hashPattern().MatchString(object) {
		err = c.Odd(object)
	}
	if err != nil {
		return err
	}
	if _, err := p.Look("symbolic-ref", "--quiet", "HEAD").Line(ctx); git.ExitCode(err) != 1 { // 1: detached
		return err
	}
	return nil
}

// movedAway says where the worktree of w is by now, if the user took it
// somewhere else with git: then it is theirs. git's entry keeps its name, which
// is our id. tip is where the branch is if that is to go nevertheless.
func movedAway(w Workspace, tip string) []string {
	entry := filepath.Join(w.GitDir, "worktrees", w.ID)
	target, err := git.ReadPath(filepath.Join(entry, "gitdir"), entry)
	if err != nil || filepath.Dir(target) == w.Root {
		return nil
	}
	kept := []string{"the worktree was moved to " + plaintext.Quoted(filepath.Dir(target)) + ": it stays there"}
	if tip == "" {
		kept = append(kept, "branch "+plaintext.Quoted(w.Branch)+" stays")
	}
	return kept
}
