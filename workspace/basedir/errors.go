package basedir

import (
	"errors"
	"fmt"

	"middleman/workspace/model"
)

// Errors for a directory that is not opened, besides model.ErrEscapes.
var (
	// ErrLeavesScope: a path leaves the directory tree that a session may
	// work in.
	ErrLeavesScope = errors.New("it leads out of the directory that is meant")
	// ErrUnsafeBase: the base directory is a symbolic link, belongs to another
	// user, or can be written by others.
	ErrUnsafeBase = errors.New("not a safe base directory")
	// ErrNoGroup: the base has no directory for the worktrees of that
	// repository, which proves that the workspace's directory is gone too.
	ErrNoGroup = fmt.Errorf("there is no such group of workspaces: %w", model.ErrMissing)
)
