package workspace

import (
	"errors"

	"middleman/workspace/basedir"
	"middleman/workspace/keep"
	"middleman/workspace/model"
)

// Errors that a caller can branch on. The message of each error that wraps one
// of them is one line that gives the refused name, directory, branch or base.
var (
	ErrBadName       = model.ErrBadName
	ErrBadRequest    = model.ErrBadRequest
	ErrNotRepository = model.ErrNotRepository
	ErrNoCommits     = model.ErrNoCommits
	// ErrForeign: git refuses a repository that another user owns, because git
	// would run its configuration.
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
	// ErrUnsafeBase: the base directory is a symbolic link, belongs to another
	// user, or can be written by others.
	ErrUnsafeBase = basedir.ErrUnsafeBase
	// ErrMissing: the workspace's directory is not where it was made. The Loss
	// that comes with it is what git knows: branch, stashes, staged files.
	ErrMissing = model.ErrMissing
	// ErrUnknown: we could not find out what a delete would destroy.
	ErrUnknown = model.ErrUnknown
	// ErrReplaced: something else has the place of the workspace's directory.
	// It wraps ErrUnknown, and consent does not help: a delete touches only
	// what is ours.
	ErrReplaced = model.ErrReplaced
	// ErrNoSnapshot: nothing was kept of the workspace.
	ErrNoSnapshot = keep.ErrNoSnapshot
	// ErrBadSnapshot: the snapshot is not in the form that a delete writes, so
	// another program wrote it. Restore brings back nothing of it.
	ErrBadSnapshot = keep.ErrBadSnapshot
	// ErrDamagedSnapshot: the repository has lost an object of the snapshot.
	// The rest stays, so that a restore works once the object is back.
	ErrDamagedSnapshot = keep.ErrDamagedSnapshot
	// ErrOccupied: something else has the place where a restore would put the
	// workspace.
	ErrOccupied = keep.ErrOccupied
	// ErrNotKept: what a delete would destroy could not be kept, so nothing was
	// deleted.
	ErrNotKept = model.ErrNotKept
)
