package git

import (
	"context"
	"fmt"
	"strings"
)

// BranchInWayError says that git cannot have Branch beside By: the name of one
// is a directory in the name of the other. It is an ErrBranchTaken.
type BranchInWayError struct{ Branch, By string }

// Error names both, and the way out.
func (e *BranchInWayError) Error() string {
	return fmt.Sprintf("branch %s cannot be made: branch %s is in the way; choose another with --branch NAME, or set another branch_prefix", e.Branch, e.By)
}

// Unwrap is ErrBranchTaken.
func (e *BranchInWayError) Unwrap() error { return ErrBranchTaken }

// Ref is the object that the ref of exactly that name points at, or "".
func (p Dirs) Ref(ctx context.Context, ref string) (string, error) {
	out, err := p.Look("for-each-ref", "--format=%(objectname) %(refname)", ref).Line(ctx)
	for line := range strings.Lines(out) {
		if object, name, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " "); name == ref {
			return object, err
		}
	}
	return "", err
}

// BranchTaken is why branch cannot be made where git has it, or one below it.
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

// inWay is the branch whose name is a directory in the name of branch, or "".
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

// firstRef is the first ref of that name or below it, or "".
func (p Dirs) firstRef(ctx context.Context, ref string) (string, error) {
	return p.Look("for-each-ref", "--count=1", "--format=%(refname)", ref).Line(ctx)
}

// MakeBranch makes branch at commit, with note in its reflog, unless there is
// one of that name or below it. Where a part of the name is a branch, that is a *BranchInWayError.
func (p Dirs) MakeBranch(ctx context.Context, branch, commit, note string) (bool, error) {
	const tries = 3 // a racer may have held the name and given it up again
	ref := "refs/heads/" + branch
	var err error
	for range tries {
		// The empty old value says that there must be none. It is over in no
		// time, and cut short it would leave open whose branch this is: so it
		// is not cancelled.
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
		if lookErr != nil {
			return false, lookErr
		}
		if by != "" {
			return false, &BranchInWayError{Branch: branch, By: by}
		}
	}
	return false, err
}

// DropBranch deletes branch if it is still at tip, and says whether it was.
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
			return false, nil // somebody moved it: it holds what nobody has looked at
		}
	}
	// The upstream of a branch that is gone would be taken for that of the
	// next one of its name. Most branches have none, which is an error to git.
	_, _ = p.Alter("config", "--local", "--remove-section", "branch."+branch).Run(ctx)
	return true, nil
}

// BranchLog is what the reflog of a branch says. A branch without a reflog has
// the zero value.
type BranchLog struct {
	Commit string // what the branch was made at
	Note   string // what was noted then
	Last   string // when the newest entry was written, in seconds since 1970
	Only   bool   // nothing happened to the branch since it was made
}

// BranchLog reads the reflog of branch.
func (p Dirs) BranchLog(ctx context.Context, branch string) (b BranchLog, err error) {
	c := p.Look("log", "--walk-reflogs", "--no-patch", "--no-decorate", "--no-show-signature", "--date=unix",
		"--format=%H %gd %gs", "refs/heads/"+branch, "--")
	c.Lines = true
	c.Each = func(line string) { // the newest first
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
