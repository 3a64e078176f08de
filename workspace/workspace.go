package workspace

import (
	"context"

	"middleman/internal/git"
	"middleman/workspace/model"
)

// The types that this package and its sub-packages share are declared in
// package model, as the types of package os are in io/fs.
type (
	// Mode is the kind of directory of a workspace.
	Mode = model.Mode
	// State is a workspace's state in its life cycle.
	State = model.State
	// RestoreSource is what a restore makes a deleted workspace from.
	RestoreSource = model.RestoreSource
	// Workspace is our record of a workspace.
	Workspace = model.Workspace
	// Stage is one step of a creation, deletion or restore.
	Stage = model.Stage
	// Progress is called synchronously for each stage.
	Progress = model.Progress
	// Loss is what a delete would destroy.
	Loss = model.Loss
	// WorkError is the error of a delete that would destroy work.
	WorkError = model.WorkError
	// BranchInWayError says that git cannot have one branch beside another. It
	// wraps ErrBranchTaken.
	BranchInWayError = git.BranchInWayError
	// BranchInUseError says that a branch is checked out. It wraps
	// ErrBranchTaken.
	BranchInUseError = git.BranchInUseError
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
	StateDeleted   = model.StateDeleted // only what a restore needs is left
	StateRestoring = model.StateRestoring
)

// The sources of a restore.
const (
	FromSnapshot = model.FromSnapshot // the snapshot that the delete kept
	FromTip      = model.FromTip      // made again: all that it held is elsewhere
	FromNothing  = model.FromNothing  // it cannot be restored
)

// Skipped begins the detail of a stage that is done except for some files. The
// rest of the detail names them and says why.
const Skipped = model.Skipped

// InSandbox begins each entry of a Loss that is in the private git directory of the
// workspace's sandboxed sessions alone.
const InSandbox = model.InSandbox

// CreateRequest says which workspace to make.
type CreateRequest struct {
	ID        string // from terminal.NewID("w")
	Name      string // a slug, see Slug
	Mode      Mode
	Directory string // absolute: the user's current directory
	Base      string // "" is HEAD of the user's checkout
	// Branch is used if it exists and is checked out nowhere; then Base must be
	// "". If only a remote has it, a local branch is made that tracks the
	// remote's; else it is made at Base. "" is a new branch Prefix/Name, with a
	// number if that is taken.
	Branch    string
	Ephemeral bool // see Workspace
	// Parent, if not nil, is the workspace whose session ParentSession asks for
	// a worker. The worker is made from the parent's HEAD, in the parent's
	// scope unless that is Exposed. Directory must lie in that scope.
	Parent        *Workspace
	ParentSession string
	// Location says where the worktree is made; "" is Options.Location, or
	// LocationData for a bare repository, and where that is Exposed. A worker's
	// place does not depend on it.
	Location Location
	// Exposed tells why a program that is confined to other directories could
	// replace the directories in dir, "" if none can. git, which is not confined,
	// must not write there: it would follow a link that the program put in its way.
	// Begin calls it before it makes anything in dir. nil means that none can.
	Exposed func(ctx context.Context, dir string) (why string, err error) `json:"-"`
	// Taken are directories that a new worktree must not get: those of recorded
	// workspaces, which may be away while they are deleted.
	Taken []string
	// Recorded are the ids of the repository's recorded workspaces, deleted ones among
	// them. What a delete or a restore has in hand of them is the repository's.
	Recorded []string
	// Filters allows programs that the repository's own configuration names:
	// filters, and programs that reach a remote (ssh command, uploadpack,
	// credential helper and such). Those of the user's configuration always
	// run.
	Filters bool

	repository git.Repository // from Locate
	usual      bool           // Location is Options.Location, by Locate
}

// Slug turns a typed name into the name of a workspace: lower-case ASCII
// letters, digits, "-", "_" and ".". It refuses a name without a good slug with
// ErrBadName. The slug of a slug is the same slug.
func Slug(name string) (string, error) { return model.Slug(name) }

// Named returns the name of a workspace for a typed name, and the branch that
// the typed name asks for: feature/x is branch feature/x and workspace
// feature-x. The branch is "" for a name without a slash. That must not have
// the form of NAME@REPOSITORY; otherwise Slug judges it.
func Named(typed string) (name, branch string, err error) { return model.Named(typed) }

// Numbered returns the n-th name to try for a name that may be taken: name, then
// name-2, name-3 and so on, shortened if it would be too long.
func Numbered(name string, n int) string { return model.Numbered(name, n) }
