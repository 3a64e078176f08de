package model

import (
	"errors"
	"fmt"

	"middleman/internal/git"
)

// Errors that a caller can branch on. The message of each error that wraps one
// of them is one line that gives the refused name, directory, branch or base.
var (
	ErrBadName       = errors.New("not a usable name")
	ErrBadRequest    = git.ErrBadRequest
	ErrNotRepository = git.ErrNotRepository
	ErrNoCommits     = errors.New("the repository has no commits yet")
	// ErrForeign: git refuses a repository that another user owns, because git
	// would run its configuration.
	ErrForeign     = git.ErrForeign
	ErrBadBase     = errors.New("not a branch, tag or commit")
	ErrBranchTaken = git.ErrBranchTaken
	// ErrEscapes: a path would leave, or has left, the base directory.
	ErrEscapes = errors.New("outside the base directory")
	// ErrMissing: the workspace's directory is not where it was made. The Loss
	// that comes with it is what git knows: branch, stashes, staged files.
	ErrMissing = errors.New("the directory is gone")
	// ErrUnknown: we could not find out what a delete would destroy.
	ErrUnknown = errors.New("cannot tell what would be lost")
	// ErrReplaced: something else has the place of the workspace's directory.
	// It wraps ErrUnknown, and consent does not help: a delete touches only
	// what is ours.
	ErrReplaced = fmt.Errorf("it was replaced: %w", ErrUnknown)
	// ErrNotKept: what a delete would destroy could not be kept, so nothing was
	// deleted.
	ErrNotKept = errors.New("cannot keep all of it, so it was not deleted")
)

// Unknown returns err as one that wraps ErrUnknown, and says so once.
func Unknown(err error) error {
	if errors.Is(err, ErrUnknown) {
		return err
	}
	return fmt.Errorf("%w: %w", ErrUnknown, err)
}

// WorkError is the error of a delete that would destroy work.
type WorkError struct {
	Name string // the workspace's name
	Loss Loss
}

// Error says how much of each kind would be lost.
func (e *WorkError) Error() string {
	return fmt.Sprintf("workspace %s holds work that would be lost: %s", e.Name, e.Loss.Summary())
}
