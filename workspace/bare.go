package workspace

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"middleman/internal/git"
	"middleman/internal/plaintext"
)

// discoverBare finds the bare repository whose top dir is, or whose directory
// dir/.git leads to, where a search for a checkout ended with failed. Git's own
// rule about somebody else's repositories holds here too. One whose files are
// tracked by a repository around it came with that: its configuration would be
// somebody's who nobody agreed to, so it is refused.
func discoverBare(ctx context.Context, dir string, failed *git.Error) (repository, error) {
	byName := strings.Contains(failed.Stderr, "cannot use bare repository")
	if !byName && !strings.Contains(failed.Stderr, "must be run in a work tree") {
		return repository{}, explainDiscovery(dir, failed)
	}
	c := git.Command{Dir: dir, Args: []string{"-c", "safe.bareRepository=all", "rev-parse", "--path-format=absolute",
		"--is-bare-repository", "--git-common-dir"}}
	out, err := c.Line(ctx)
	if again, ok := errors.AsType[*git.Error](err); ok {
		return repository{}, explainDiscovery(dir, again)
	}
	if err != nil {
		return repository{}, err
	}
	bare, top, _ := strings.Cut(out, "\n")
	switch {
	case strings.Contains(top, "\n"):
		return repository{}, lineBreak(dir)
	case top == "":
		return repository{}, c.Odd(out)
	case bare != "true":
		return repository{}, fmt.Errorf("%s: in the git directory of a checkout; stand in the checkout: %w", plaintext.Quoted(dir), ErrNotRepository)
	case byName && !sameDir(dir, top):
		return repository{}, fmt.Errorf("%s: in the bare repository %s; stand at its top: %w", plaintext.Quoted(dir), plaintext.Quoted(top), ErrNotRepository)
	case byName:
		if err := checkEmbedded(ctx, top); err != nil {
			return repository{}, err
		}
	}
	return repository{here: whole(top), main: top}, nil
}

// checkEmbedded refuses a bare repository that a repository around it tracks.
func checkEmbedded(ctx context.Context, top string) error {
	around, err := discover(ctx, filepath.Dir(top))
	if errors.Is(err, ErrNotRepository) || err == nil && around.here.WorkTree == "" {
		return nil
	}
	if err != nil {
		return err
	}
	tracked := false
	c := around.here.Look("ls-files", "-z", "--", ":(top,literal)"+relativeTo(around.here.WorkTree, top))
	c.Each = func(string) { tracked = true }
	if _, err := c.Run(ctx); err != nil {
		return err
	}
	if tracked {
		return fmt.Errorf("%s: a bare repository that is tracked by %s; clone it to elsewhere first: %w",
			plaintext.Quoted(top), plaintext.Quoted(around.main), ErrNotRepository)
	}
	return nil
}

// relativeTo is path as git names it in a checkout at top.
func relativeTo(top, path string) string {
	if canonical, err := filepath.EvalSymlinks(path); err == nil {
		path = canonical
	}
	below, err := filepath.Rel(top, path)
	if err != nil {
		return path
	}
	return filepath.ToSlash(below)
}
