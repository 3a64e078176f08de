package workspace

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"middleman/internal/git"
	"middleman/internal/plaintext"
)

// defaultBase is the base that is the repository's default branch, unless a
// branch or a tag is called that.
const defaultBase = "default"

// repository is what the user stands in.
type repository struct {
	git.Repository
	ours string // what comes before the slash in branches of workspaces; "" is not known
}

// Checkout is the top of the checkout that dir is in, and the common git
// directory of its repository. Where there is none that is an
// ErrNotRepository.
func Checkout(ctx context.Context, dir string) (top, gitDir string, err error) {
	repo, err := git.Discover(ctx, dir)
	return repo.Here.WorkTree, repo.Here.CommonDir, err
}

// start finds the commit that a new branch begins at, and what to call it.
func (r repository) start(ctx context.Context, base string) (name, commit string, err error) {
	if base == "" {
		return r.startAtHead(ctx)
	}
	if len(base) > 1000 || strings.ContainsFunc(base, func(c rune) bool { return c < ' ' || c == 0x7f }) {
		return "", "", fmt.Errorf("base %s: %w", plaintext.Quoted(base[:min(len(base), 100)]), ErrBadBase)
	}
	// A branch first: git would take a tag of the same name before it.
	for _, candidate := range []string{"refs/heads/" + base, base} {
		commit, err = r.Here.Commit(ctx, candidate)
		if commit != "" {
			return base, commit, nil
		}
		if err != nil && git.ExitCode(err) < 0 {
			return "", "", err // git did not get to say
		}
	}
	if base == defaultBase {
		name, commit, err = r.startAtDefault(ctx)
		if err != nil || commit != "" {
			return name, commit, err
		}
		return "", "", fmt.Errorf("which branch of %s is the default one cannot be told; `git remote set-head origin --auto` asks the remote: %w", plaintext.Quoted(r.Main), ErrBadBase)
	}
	return "", "", fmt.Errorf("base %s in %s: %w", plaintext.Quoted(base), r.Main, ErrBadBase)
}

// startAtHead is the commit that is checked out where the user stands. On a
// branch without commits, while others have some, it is the default branch's.
func (r repository) startAtHead(ctx context.Context) (name, commit string, err error) {
	commit, err = r.Here.Commit(ctx, "HEAD")
	if err != nil {
		return "", "", err
	}
	if commit == "" {
		name, commit, err = r.startAtDefault(ctx)
		if err != nil || commit != "" {
			return name, commit, err
		}
		return "", "", fmt.Errorf("%s: %w; make one first, or use --mode in-place", plaintext.Quoted(r.Main), ErrNoCommits)
	}
	name, err = r.Here.Look("symbolic-ref", "--quiet", "--short", "HEAD").Line(ctx)
	if git.ExitCode(err) == 1 {
		return "HEAD", commit, nil // detached
	}
	return name, commit, err
}

// startAtDefault finds the default branch by what is known here: what the
// remote's HEAD is, which a clone records; else the branch that new
// repositories of this user begin with; else main or master; else the only
// branch there is. A remote's branch comes before one of ours of that name, as
// that may be behind. It gives "" where nothing tells.
func (r repository) startAtDefault(ctx context.Context) (name, commit string, err error) {
	remote, err := r.remoteForBases(ctx)
	if err != nil && git.ExitCode(err) >= 0 {
		return "", "", err
	}
	var names []string // of branches, or of the remote's branches with that before them
	if err == nil {
		head, err := r.Here.Look("symbolic-ref", "--quiet", "--short", "refs/remotes/"+remote+"/HEAD").Line(ctx)
		if err != nil && git.ExitCode(err) != 1 { // 1: it is missing
			return "", "", err
		}
		names = append(names, head)
	}
	usual, err := r.Here.Look("config", "--get", "init.defaultBranch").Line(ctx)
	if err != nil && git.ExitCode(err) != 1 {
		return "", "", err
	}
	for _, branch := range []string{usual, "main", "master"} {
		if remote != "" && branch != "" {
			names = append(names, remote+"/"+branch)
		}
		names = append(names, branch)
	}
	for _, pattern := range []string{"refs/remotes/" + remote + "/", "refs/heads/"} {
		only, err := r.only(ctx, pattern)
		if err != nil {
			return "", "", err
		}
		names = append(names, only)
	}
	for _, name := range slices.DeleteFunc(names, func(name string) bool { return name == "" }) {
		ref := "refs/heads/" + name
		if remote != "" && strings.HasPrefix(name, remote+"/") {
			ref = "refs/remotes/" + name
		}
		if commit, err = r.Here.Commit(ctx, ref); err != nil || commit != "" {
			return name, commit, err
		}
	}
	return "", "", nil
}

// only is the short name of the only ref below pattern but for branches of
// workspaces, or "".
func (r repository) only(ctx context.Context, pattern string) (string, error) {
	found := map[string]bool{}
	c := r.Here.Look("for-each-ref", "--format=%(refname:lstrip=2)", pattern)
	c.Lines = true
	c.Each = func(name string) {
		if r.ours == "" || !strings.HasPrefix(name, r.ours+"/") {
			found[name] = true
		}
	}
	if _, err := c.Run(ctx); err != nil || len(found) != 1 {
		return "", err
	}
	for name := range found {
		return name, nil
	}
	return "", nil
}
