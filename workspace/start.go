package workspace

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"middleman/internal/contain"
	"middleman/internal/git"
	"middleman/internal/plaintext"
)

// defaultBase is the base that means the repository's default branch, unless a
// branch or tag has that name.
const defaultBase = "default"

// repository is the repository that contains the user's current directory.
type repository struct {
	git.Repository
	ours string // the prefix of our branches; "" if it is not known
}

// Checkout returns the top of the checkout that contains dir, and the common
// git directory of its repository. If there is none it returns an
// ErrNotRepository.
func Checkout(ctx context.Context, dir string) (top, gitDir string, err error) {
	repo, err := git.Discover(ctx, dir)
	return repo.Here.WorkTree, repo.Here.CommonDir, err
}

// start finds the commit at which a new branch begins, and its name.
func (r repository) start(ctx context.Context, base string) (name, commit string, err error) {
	if base == "" {
		return r.startAtHead(ctx)
	}
	if len(base) > 1000 || strings.ContainsFunc(base, func(c rune) bool { return c < ' ' || c == 0x7f }) {
		return "", "", fmt.Errorf("base %s: %w", plaintext.Quoted(base[:min(len(base), 100)]), ErrBadBase)
	}
	// Branches first: git would prefer a tag with the same name.
	for _, candidate := range []string{"refs/heads/" + base, base} {
		commit, err = r.Here.Commit(ctx, candidate)
		if commit != "" {
			return base, commit, nil
		}
		if err != nil && git.ExitCode(err) < 0 {
			return "", "", err // git did not run
		}
	}
	if base == defaultBase {
		name, commit, err = r.startAtDefault(ctx)
		if err != nil || commit != "" {
			return name, commit, err
		}
		return "", "", fmt.Errorf("the default branch of %s is not known; `git remote set-head origin --auto` asks the remote: %w", plaintext.Quoted(r.Main), ErrBadBase)
	}
	return "", "", fmt.Errorf("base %s in %s: %w", plaintext.Quoted(base), r.Main, ErrBadBase)
}

// startAtHead returns the commit that the user has checked out. If that is a
// branch without commits it returns the default branch's.
func (r repository) startAtHead(ctx context.Context) (name, commit string, err error) {
	var headErr, nameErr error
	if err := contain.Together(
		func() error { commit, headErr = r.Here.Commit(ctx, "HEAD"); return nil },
		func() error {
			name, nameErr = r.Here.Look("symbolic-ref", "--quiet", "--short", "HEAD").Line(ctx)
			return nil
		},
	); err != nil {
		return "", "", err
	}
	if headErr != nil {
		return "", "", headErr
	}
	if commit == "" {
		name, commit, err = r.startAtDefault(ctx)
		if err != nil || commit != "" {
			return name, commit, err
		}
		return "", "", fmt.Errorf("%s: %w; make one first, or use --mode in-place", plaintext.Quoted(r.Main), ErrNoCommits)
	}
	if git.ExitCode(nameErr) == 1 {
		return "HEAD", commit, nil // HEAD is detached
	}
	return name, commit, nameErr
}

// startAtDefault finds the default branch without contacting the remote. It
// tries the remote's HEAD, which a clone records; then the user's
// init.defaultBranch; then main and master; then the only branch there is. A
// remote's branch comes before a local one of that name, which may be behind.
// It returns "" if none of these exists.
func (r repository) startAtDefault(ctx context.Context) (name, commit string, err error) {
	remote, err := r.remoteForBases(ctx)
	if err != nil && git.ExitCode(err) >= 0 {
		return "", "", err
	}
	var names []string // of local branches, or of remote branches with the remote's name before them
	if err == nil {
		head, err := r.Here.Look("symbolic-ref", "--quiet", "--short", "refs/remotes/"+remote+"/HEAD").Line(ctx)
		if err != nil && git.ExitCode(err) != 1 { // status 1: it is missing
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

// only returns the short name of the only ref below pattern, not counting the
// branches of workspaces, or "".
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
