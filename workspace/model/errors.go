package model

import (
	"errors"
	"fmt"

	"middleman/internal/git"
)

// What a caller can branch on. Each error that wraps one of these is one line
// that names the name, directory, branch or base that was refused.
var (
	ErrBadName       = errors.New("not a usable name")
	ErrBadRequest    = git.ErrBadRequest
	ErrNotRepository = git.ErrNotRepository
	ErrNoCommits     = errors.New("the repository has no commits yet")
	// ErrForeign: git refuses a repository of another user, whose
	// configuration it would run.
	ErrForeign     = git.ErrForeign
	ErrBadBase     = errors.New("not a branch, tag or commit")
	ErrBranchTaken = git.ErrBranchTaken
	// ErrEscapes: a path would leave, or has left, the base directory.
	ErrEscapes = errors.New("outside the base directory")
	// ErrMissing: the workspace's directory is not where it was made. The Loss
	// beside it is what git alone knows: branch, stashes, staged files.
	ErrMissing = errors.New("the directory is gone")
	// ErrUnknown: it could not be found out what a delete would destroy.
	ErrUnknown = errors.New("cannot tell what would be lost")
	// ErrReplaced: something else is where the workspace's directory was. It is
	// an ErrUnknown that no consent helps: a delete touches only what is ours.
	ErrReplaced = fmt.Errorf("it was replaced: %w", ErrUnknown)
	// ErrNotKept: what a delete would destroy cannot be kept, so it was not
	// deleted.
	ErrNotKept = errors.New("cannot keep all of it, so it was not deleted")
)

// WorkError refuses a delete that would destroy work.
type WorkError struct {
	Name string // the workspace's
	Loss Loss
}

// Error says how much of each kind would be lost.
func (e *WorkError) Error() string {
	return fmt.Sprintf("workspace %s holds work that would be lost: %s", e.Name, e.Loss.Summary())
}
