package git

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"middleman/internal/plainfile"
	"middleman/internal/plaintext"
)

// BranchInWayError says that git cannot have both Branch and By, because one
// name would be a directory of the other, or on some file systems the same. It wraps
// ErrBranchTaken.
type BranchInWayError struct{ Branch, By string }

// Error names both branches, and says how to avoid the conflict.
func (e *BranchInWayError) Error() string {
	return fmt.Sprintf("branch %s cannot be made: branch %s is in the way; choose another with --branch NAME, or set another branch_prefix", e.Branch, e.By)
}

// Unwrap returns ErrBranchTaken.
func (e *BranchInWayError) Unwrap() error { return ErrBranchTaken }

// BranchInUseError says that the worktree at Path has Branch checked out. It
// wraps ErrBranchTaken.
type BranchInUseError struct {
	Branch, Path string
	Gone         bool // the worktree's directory is gone
}

// Error says where the branch is checked out, and what frees it if the
// directory is gone.
func (e *BranchInUseError) Error() string {
	text := fmt.Sprintf("branch %s is checked out in %s", plaintext.Quoted(e.Branch), plaintext.Quoted(e.Path))
	if e.Gone {
		text += ", which is gone: `git worktree prune` frees the branch"
	}
	return text
}

// Unwrap returns ErrBranchTaken.
func (e *BranchInUseError) Unwrap() error { return ErrBranchTaken }

// BranchFree returns a *BranchInUseError if a worktree has branch checked out.
func (p Dirs) BranchFree(ctx context.Context, branch string) error {
	trees, err := p.Worktrees(ctx)
	if err != nil {
		return err
	}
	for _, tree := range trees {
		if tree.Branch == "refs/heads/"+branch {
			return &BranchInUseError{Branch: branch, Path: tree.Path, Gone: tree.Gone != ""}
		}
	}
	return nil
}

// RemoteBranch is a remote's branch as the repository last saw it.
type RemoteBranch struct{ Remote, Ref, Commit string }

// RemoteBranches returns what the remotes have under the name branch, sorted by
// remote. It does not contact them.
func (p Dirs) RemoteBranches(ctx context.Context, branch string) ([]RemoteBranch, error) {
	out, err := p.Look("remote").Line(ctx)
	if err != nil || out == "" {
		return nil, err
	}
	var found []RemoteBranch
	for remote := range strings.Lines(out) {
		remote = strings.TrimSuffix(remote, "\n")
		ref := "refs/remotes/" + remote + "/" + branch
		commit, err := p.Ref(ctx, ref)
		if err != nil {
			return nil, err
		}
		if commit != "" {
			found = append(found, RemoteBranch{remote, ref, commit})
		}
	}
	return found, nil
}

// Track makes branch track a remote's branch.
func (p Dirs) Track(ctx context.Context, branch string, remote RemoteBranch) error {
	_, err := p.Alter("branch", "--quiet", "--set-upstream-to="+remote.Ref, branch).Run(ctx)
	return err
}

// Ref returns the object that the ref with exactly this name points at, or "".
func (p Dirs) Ref(ctx context.Context, ref string) (string, error) {
	out, err := p.Look("for-each-ref", "--format=%(objectname) %(refname)", ref).Line(ctx)
	for line := range strings.Lines(out) {
		if object, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " "); name == ref {
			return object, err
		}
	}
	return "", err
}

// maxRefs bounds how many refs are read for a list to choose from.
const maxRefs = 5000

// Refs returns the full names of the first maxRefs branches, branches of remotes and
// tags, in this order.
func (p Dirs) Refs(ctx context.Context) (refs []string, err error) {
	for _, kind := range []string{"refs/heads", "refs/remotes", "refs/tags"} {
		out, err := p.Look("for-each-ref", fmt.Sprintf("--count=%d", maxRefs), "--format=%(refname)", kind).Line(ctx)
		if err != nil {
			return nil, err
		}
		refs = append(refs, strings.Fields(out)...)
	}
	return refs, nil
}

// BranchTaken returns the error for a branch that cannot be made because it
// exists, or because a branch below its name does.
func (p Dirs) BranchTaken(ctx context.Context, branch string) error {
	found, err := p.firstRef(ctx, "refs/heads/"+branch)
	if err != nil {
		return err
	}
	if by := strings.TrimPrefix(found, "refs/heads/"); by != "" && by != branch {
		return &BranchInWayError{Branch: branch, By: by}
	}
	return fmt.Errorf("branch %s: %w", branch, ErrBranchTaken)
}

// inWay returns an existing branch whose name is a directory in the name of
// branch, or "".
func (p Dirs) inWay(ctx context.Context, branch string) (string, error) {
	for i, c := range branch {
		if c != '/' {
			continue
		}
		if object, err := p.Ref(ctx, "refs/heads/"+branch[:i]); err != nil || object != "" {
			return branch[:i], err
		}
	}
	return "", nil
}

// inOtherCase returns an existing branch whose name differs from branch, or from the
// beginning of it, in case at most, or "".
func (p Dirs) inOtherCase(ctx context.Context, branch string) (found string, err error) {
	c := p.Look("for-each-ref", "--format=%(refname:lstrip=2)", "refs/heads/")
	c.Lines = true
	c.Each = func(name string) {
		if len(name) <= len(branch) && strings.EqualFold(name, branch[:len(name)]) && (len(name) == len(branch) || branch[len(name)] == '/') {
			found = name
		}
	}
	_, err = c.Run(ctx)
	return found, err
}

// firstRef returns the first ref with this name or below it, or "".
func (p Dirs) firstRef(ctx context.Context, ref string) (string, error) {
	return p.Look("for-each-ref", "--count=1", "--format=%(refname)", ref).Line(ctx)
}

// MakeBranch makes branch at commit and writes note to its reflog. It returns
// false without an error if a branch with that name or below it exists. If a
// part of the name is a branch, it returns a *BranchInWayError.
func (p Dirs) MakeBranch(ctx context.Context, branch, commit, note string) (bool, error) {
	const tries = 3 // another process may have had the name and deleted it again
	ref := "refs/heads/" + branch
	var err error
	for range tries {
		// The empty old value means: there must be no such ref. The command is
		// not cancelled, because it is short, and a cancelled one would not
		// tell whether we made the branch.
		_, err = p.Alter("update-ref", "--no-deref", "--create-reflog", "-m", note, ref, commit, "").Run(context.WithoutCancel(ctx))
		if err == nil {
			return true, nil
		}
		found, lookErr := p.firstRef(ctx, ref)
		if lookErr != nil {
			return false, lookErr
		}
		if found != "" {
			return false, nil
		}
		by, lookErr := p.inWay(ctx, branch)
		if by == "" && lookErr == nil {
			by, lookErr = p.inOtherCase(ctx, branch)
		}
		if lookErr != nil {
			return false, lookErr
		}
		if by == branch {
			return false, nil // another process has made it since
		}
		if by != "" {
			return false, &BranchInWayError{Branch: branch, By: by}
		}
	}
	return false, err
}

// DropBranch deletes branch if it is still at tip, and reports whether it did.
// A branch that is gone already counts as deleted.
func (p Dirs) DropBranch(ctx context.Context, branch, tip string) (bool, error) {
	ref := "refs/heads/" + branch
	_, err := p.Alter("update-ref", "--no-deref", "-d", ref, tip).Run(ctx)
	if err != nil {
		now, lookErr := p.Ref(ctx, ref)
		if lookErr != nil || now == tip {
			return false, err
		}
		if now != "" {
			return false, nil // another process moved it to commits that were not checked
		}
	}
	if p.mayConfigure(branch) {
		// A new branch of the same name would inherit this upstream. If there is
		// none, git reports that as an error.
		_, _ = p.Alter("config", "--local", "--remove-section", "branch."+branch).Run(ctx)
	}
	return true, nil
}

// mayConfigure reports whether the repository's configuration may have a section of
// branch, whose name need not be written there as it is.
func (p Dirs) mayConfigure(branch string) bool {
	config, err := plainfile.ReadFollowed(filepath.Join(p.CommonDir, "config"), maxConfig)
	if err != nil || strings.ContainsAny(branch, `"\`) {
		return true
	}
	return bytes.Contains(bytes.ToLower(config), []byte(strings.ToLower(branch)))
}

// BranchLog is the result of reading a branch's reflog. A branch without a
// reflog has the zero value.
type BranchLog struct {
	Commit string // the commit that the branch was made at
	Note   string // the message of the oldest entry
	Last   string // time of the newest entry, in seconds since 1970
	Only   bool   // there is one entry only: nothing happened since the branch was made
}

// BranchLog reads the reflog of branch.
func (p Dirs) BranchLog(ctx context.Context, branch string) (b BranchLog, err error) {
	c := p.Look("log", "--walk-reflogs", "--no-patch", "--no-decorate", "--no-show-signature", "--date=unix",
		"--format=%H %gd %gs", "refs/heads/"+branch, "--")
	c.Lines = true
	c.Each = func(line string) { // newest first
		commit, rest, _ := strings.Cut(line, " ")
		at, note, _ := strings.Cut(rest, "} ")
		b.Only = b.Last == ""
		if b.Only {
			_, b.Last, _ = strings.Cut(at, "@{")
		}
		b.Commit, b.Note = commit, note
	}
	_, err = c.Run(ctx)
	return b, err
}
