package workspace

import "time"

// Mode is what kind of directory a workspace is.
type Mode string

// The modes of a workspace.
const (
	ModeWorktree  Mode = "worktree"  // a git worktree on a branch of its own
	ModeDirectory Mode = "directory" // an empty directory, ours
	ModeInPlace   Mode = "in-place"  // the user's directory, never deleted by us
)

// State is where a workspace stands in its life.
type State string

// The states of a workspace.
const (
	StateCreating State = "creating"
	StateReady    State = "ready"
	StateFailed   State = "failed"
	StateDeleting State = "deleting"
	// StateDeleted: only what a restore brings back is left.
	StateDeleted   State = "deleted"
	StateRestoring State = "restoring"
)

// Workspace is our record of a directory.
type Workspace struct {
	ID   string
	Name string
	Mode Mode
	// Root is the workspace's directory; Subdir, relative to it, is where the
	// user stood when it was made and where sessions open.
	Root   string
	Subdir string
	// Repository is the top of the main checkout; GitDir its common git
	// directory. Both are empty outside of a repository. Branch is the one that
	// was made for it, or of a directory in place the one it was on then.
	Repository string
	GitDir     string
	Branch     string
	// Base is what was asked for, BaseCommit what it was at creation.
	Base       string
	BaseCommit string
	State      State
	Error      string
	CreatedAt  time.Time
	// Parent is the workspace whose session ParentSession spawned this one as
	// a worker; "" is the user's own.
	Parent        string
	ParentSession string
	// Port is the first of Ports consecutive ones that no other workspace has.
	Port, Ports int
	// ConfigHash is of the repository's configuration as the user agreed to
	// it, "" where nothing of it was run.
	ConfigHash string
	// Ephemeral workspaces go with their program, unless they hold work. Of
	// what git ignores in them nothing is kept for a restore.
	Ephemeral bool
}

// Skipped begins the detail of a stage that is done, but not all of what it is
// for; the rest says what is not, and why.
const Skipped = "skipped: "

// Stage is one step of a creation or deletion, reported when it starts and
// again when it ends. One that takes long is reported meanwhile, too: it is
// running, and Detail says how far it is.
type Stage struct {
	Name   string // of a creation: validate, resolve, add, checkout, lfs, ready; of a deletion: look, move, keep, forget, remove, branch; of a restore: read, files, branch, entry, place
	State  string // running, done, failed
	Detail string
	Time   time.Time
}

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

// Loss is what a delete would destroy. Each list is bounded; Truncated says
// that one of them is cut. Ignored and Abandoned keep nothing from being
// deleted: they are there to be seen.
type Loss struct {
	Changed   []string `json:"changed,omitempty" doc:"Changed, staged or deleted tracked files"`
	Untracked []string `json:"untracked,omitempty" doc:"Files that git does not know, and repositories and worktrees in the workspace, ignored or not"`
	Stashed   []string `json:"stashed,omitempty" doc:"Stashes made on this branch"`
	Commits   []string `json:"commits,omitempty" doc:"Commits that are on no other branch and no remote"`
	Operation string   `json:"operation,omitempty" doc:"A merge, rebase, cherry-pick or bisect in progress"`
	Ignored   []string `json:"ignored,omitempty" doc:"Files and directories that git ignores; no reason to refuse"`
	Abandoned []string `json:"abandoned,omitempty" doc:"Commits that only the worktree's reflog or refs hold; no reason to refuse"`
	Truncated bool     `json:"truncated,omitempty"`
	// Kept says what stays though one would expect it to go, a line each.
	Kept []string `json:"-"`
	// Restorable says that a delete has left, or would leave, what Restore
	// brings all of it back from, but for Unkept: ignored files that are too large, and files
	// without content, a line each.
	Restorable bool     `json:"-"`
	Unkept     []string `json:"-"`
}

// Empty reports whether no work would be lost.
func (l Loss) Empty() bool {
	return len(l.Changed) == 0 && len(l.Untracked) == 0 && len(l.Stashed) == 0 && len(l.Commits) == 0 && l.Operation == ""
}
