package workspace

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"middleman/internal/git"
	"middleman/internal/plaintext"
	"middleman/workspace/model"
)

// fetchTime limits the fetch of a base.
const fetchTime = 10 * time.Minute

// fetchedRef is the ref that holds a fetched base until its branch is made.
func fetchedRef(id string) string { return "refs/middleman/fetch/" + id }

// fetch fetches ref, which request.Base stands for, from the remote for bases,
// into fetchedRef. It fetches no tags and no other branches, and writes no
// FETCH_HEAD. It never asks for a filter, which would turn the repository into
// a partial clone. detail names the settings of the repository that were turned
// off; request.Filters would allow them.
func (r repository) fetch(ctx context.Context, request CreateRequest, ref string, tell func(string)) (detail string, err error) {
	base := request.Base
	remote, err := r.remoteForBases(ctx)
	if err != nil {
		return "", fmt.Errorf("base %s: %w", base, err)
	}
	way, err := git.ConsentedTransport(ctx, git.Whole(r.Here.CommonDir), request.Filters)
	if err != nil {
		return "", fmt.Errorf("base %s: %w", base, err)
	}
	fetch := git.Whole(r.Here.CommonDir).Alter("fetch", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance", "--no-recurse-submodules",
		"--no-prune", "--refmap=", "--progress", "--", remote, "+"+ref+":"+fetchedRef(request.ID))
	fetch.Dir = r.Main // relative paths of remotes start here
	fetch.Limit = fetchTime
	fetch.Errors = &progressReader{tell: tell}
	if fetch, err = way.FetchOver(fetch, remote); err == nil {
		_, err = fetch.Run(ctx)
		err = way.Explain(err)
	}
	switch {
	case err == nil || ctx.Err() != nil:
		return strings.TrimSuffix(ref+"; "+way.Note(), "; "), err
	case strings.Contains(err.Error(), "couldn't find remote ref"):
		return "", fmt.Errorf("base %s: remote %s has no %s: %w", base, plaintext.Quoted(remote), ref, ErrBadBase)
	}
	return "", fmt.Errorf("base %s: fetch %s from remote %s: %w: %w", base, ref, plaintext.Quoted(remote), ErrFetch, err)
}

// remoteForBases returns origin, else the only remote, else the remote of the
// current branch's upstream.
func (r repository) remoteForBases(ctx context.Context) (string, error) {
	out, err := r.Here.Look("remote").Line(ctx)
	if err != nil {
		return "", err
	}
	remotes := strings.Fields(out)
	switch {
	case len(remotes) == 0:
		return "", fmt.Errorf("%s has no remote: %w", plaintext.Quoted(r.Main), ErrBadBase)
	case slices.Contains(remotes, "origin"):
		return "origin", nil
	case len(remotes) == 1:
		return remotes[0], nil
	}
	branch, err := r.Here.Look("symbolic-ref", "--quiet", "HEAD").Line(ctx)
	if err != nil && git.ExitCode(err) != 1 { // status 1: HEAD is detached
		return "", err
	}
	if branch != "" {
		upstream, err := r.Here.Look("for-each-ref", "--format=%(upstream:remotename)", branch).Line(ctx)
		if err != nil || slices.Contains(remotes, upstream) {
			return upstream, err
		}
	}
	return "", fmt.Errorf("none of the remotes %s is called origin, and the current branch has no upstream, so it is not known which remote is meant: %w",
		plaintext.Quoted(strings.Join(remotes, ", ")), ErrBadBase)
}

// dropFetched deletes the fetchedRef of that id, even if ctx has ended.
func dropFetched(ctx context.Context, repo git.Dirs, id string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), model.UndoTime)
	defer cancel()
	_, err := repo.Alter("update-ref", "--no-deref", "-d", fetchedRef(id)).Run(ctx)
	return err
}
