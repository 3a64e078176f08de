package workspace

import (
	"errors"

	"middleman/workspace/basedir"
	"middleman/workspace/keep"
	"middleman/workspace/model"
)

// What a caller can branch on. Each error that wraps one of these is one line
// that names the name, directory, branch or base that was refused.
var (
	ErrBadName       = model.ErrBadName
	ErrBadRequest    = model.ErrBadRequest
	ErrNotRepository = model.ErrNotRepository
	ErrNoCommits     = model.ErrNoCommits
	// ErrForeign: git refuses a repository of another user, whose
	// configuration it would run.
	ErrForeign = model.ErrForeign
	ErrBadBase = model.ErrBadBase
	// ErrFetch: a base could not be fetched from its remote.
	ErrFetch       = errors.New("cannot be fetched")
	ErrBranchTaken = model.ErrBranchTaken
	// ErrEscapes: a path would leave, or has left, the base directory.
	ErrEscapes = model.ErrEscapes
	// ErrLeavesScope: a path leaves the directory tree that a session may
	// work in.
	ErrLeavesScope = basedir.ErrLeavesScope
	// ErrUnsafeBase: the base directory is a symbolic link, belongs to
	// somebody else, or can be written by others.
	ErrUnsafeBase = basedir.ErrUnsafeBase
	// ErrMissing: the workspace's directory is not where it was made. The Loss
	// beside it is what git alone knows: branch, stashes, staged files.
	ErrMissing = model.ErrMissing
	// ErrUnknown: it could not be found out what a delete would destroy.
	ErrUnknown = model.ErrUnknown
	// ErrReplaced: something else is where the workspace's directory was. It is
	// an ErrUnknown that no consent helps: a delete touches only what is ours.
	ErrReplaced = model.ErrReplaced
	// ErrNoSnapshot: nothing is kept of the workspace that could be restored.
	ErrNoSnapshot = keep.ErrNoSnapshot
	// ErrBadSnapshot: what is kept of the workspace is not as a delete keeps it.
	// Somebody else wrote it, and nothing of it is brought back.
	ErrBadSnapshot = keep.ErrBadSnapshot
	// ErrDamagedSnapshot: the repository has lost an object of it. What is kept
	// stays, so that a restore works once the object is back.
	ErrDamagedSnapshot = keep.ErrDamagedSnapshot
	// ErrOccupied: where a restore would put the workspace there is something.
	ErrOccupied = keep.ErrOccupied
	// ErrNotKept: what a delete would destroy cannot be kept, so it was not
	// deleted.
	ErrNotKept = model.ErrNotKept
)
