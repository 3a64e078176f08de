package workspace

import (
	"middleman/internal/git"
	"middleman/workspace/model"
)

// What the rooms of this package share is declared in package model, as the
// types of package os are in io/fs.
type (
	// Mode is what kind of directory a workspace is.
	Mode = model.Mode
	// State is where a workspace stands in its life.
	State = model.State
	// Workspace is our record of a directory.
	Workspace = model.Workspace
	// Stage is one step of a creation, deletion or restore.
	Stage = model.Stage
	// Progress is told of each stage, synchronously.
	Progress = model.Progress
	// Loss is what a delete would destroy.
	Loss = model.Loss
	// WorkError refuses a delete that would destroy work.
	WorkError = model.WorkError
	// BranchInWayError says that git cannot have one branch beside another. It
	// is an ErrBranchTaken.
	BranchInWayError = git.BranchInWayError
)

// The modes of a workspace.
const (
	ModeWorktree  = model.ModeWorktree  // a git worktree on a branch of its own
	ModeDirectory = model.ModeDirectory // an empty directory, ours
	ModeInPlace   = model.ModeInPlace   // the user's directory, never deleted by us
)

// The states of a workspace.
const (
	StateCreating  = model.StateCreating
	StateReady     = model.StateReady
	StateFailed    = model.StateFailed
	StateDeleting  = model.StateDeleting
	StateDeleted   = model.StateDeleted // only what a restore brings back is left
	StateRestoring = model.StateRestoring
)

// Skipped begins the detail of a stage that is done, but not all of what it is
// for; the rest says what is not, and why.
const Skipped = model.Skipped

// CreateRequest says what to make.
type CreateRequest struct {
	ID        string // from terminal.NewID("w")
	Name      string // a slug, see Slug
	Mode      Mode
	Directory string // absolute: where the user stands
	Base      string // "" is HEAD of the user's checkout
	Branch    string // "" is Prefix/Name, with a suffix where that is taken
	Ephemeral bool   // see Workspace
	// Parent, where given, is the workspace whose session ParentSession asks
	// for a worker. It is made in the parent's scope, from the parent's HEAD,
	// and Directory must lie in that scope.
	Parent        *Workspace
	ParentSession string
	// Place is where the worktree is made; "" is Options.Place, or PlaceData for
	// a bare repository. A worker's is in its parent's scope.
	Place Place
	// Filters lets programs run that the repository's own configuration names:
	// filters, and those that reach a remote (ssh command, uploadpack, credential
	// helper and such). Those of the user's configuration always run.
	Filters bool
}

// Slug turns what a user typed into the name of a workspace: lower-case ASCII
// letters, digits, "-", "_" and ".". What no good name can be made of is refused
// with ErrBadName. A slug is its own slug.
func Slug(name string) (string, error) { return model.Slug(name) }
