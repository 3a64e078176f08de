package model

import (
	"path/filepath"
	"strconv"
	"time"
)

// Mode is the kind of directory of a workspace.
type Mode string

// The modes of a workspace.
const (
	ModeWorktree  Mode = "worktree"  // a git worktree on a branch of its own
	ModeDirectory Mode = "directory" // an empty directory, ours
	ModeInPlace   Mode = "in-place"  // the user's directory, never deleted by us
)

// State is a workspace's state in its life cycle.
type State string

// The states of a workspace.
const (
	StateCreating State = "creating"
	StateReady    State = "ready"
	StateFailed   State = "failed"
	StateDeleting State = "deleting"
	// StateDeleted: only what a restore needs is left.
	StateDeleted   State = "deleted"
	StateRestoring State = "restoring"
)

// RestoreSource is what a restore makes a deleted workspace from.
type RestoreSource string

// The sources of a restore.
const (
	FromSnapshot RestoreSource = "" // the snapshot that the delete kept
	// FromTip: the delete kept no snapshot, because all that the workspace held
	// is elsewhere. A worktree is made again at Workspace.Tip.
	FromTip     RestoreSource = "tip"
	FromNothing RestoreSource = "nothing" // it cannot be restored
)

// Workspace is our record of a workspace.
type Workspace struct {
	ID   string
	Name string
	Mode Mode
	// Root is the workspace's directory. Subdir, relative to it, is where the
	// user was when it was made, and where sessions start.
	Root   string
	Subdir string
	// BaseDir is the base directory that Root is in, if the user named one; "" is
	// the manager's own, or the scope of a worker.
	BaseDir string
	// Repository is the top of the main checkout, GitDir its common git
	// directory. Both are empty outside a repository. Branch is the one that was
	// checked out first. OwnBranch says that it was made for this workspace, so
	// that a delete may remove it.
	Repository string
	GitDir     string
	Branch     string
	OwnBranch  bool
	// Base is the requested base, BaseCommit its commit at creation.
	Base       string
	BaseCommit string
	State      State
	Error      string
	CreatedAt  time.Time
	// Parent is the workspace whose session ParentSession asked for this one as
	// a worker; "" if the user made it.
	Parent        string
	ParentSession string
	// Port is the first of Ports consecutive ports that no other workspace has.
	Port, Ports int
	// ConfigHash is the hash of the repository's configuration that the user
	// agreed to, or "" if none of it has run.
	ConfigHash string
	// Ephemeral workspaces are deleted with their program, unless they hold
	// work. Their ignored files alone are not kept for a restore.
	Ephemeral bool
	// RestoreFrom is what a restore makes a deleted workspace from. Tip was the
	// commit of its branch when it was deleted, if that is needed.
	RestoreFrom RestoreSource
	Tip         string
}

// Skipped begins the detail of a stage that is done except for some files. The
// rest of the detail names them and says why.
const Skipped = "skipped: "

// Stage is one step of a creation, deletion or restore. It is reported when it
// starts and when it ends. A long one is also reported while it runs, with its
// progress in Detail.
type Stage struct {
	Name   string // of a creation: validate, fetch, resolve, add, checkout, lfs, copy, ready; of a deletion: look, move, keep, forget, remove, branch; of a restore: read, files, branch, entry, place
	State  string // running, done, failed
	Detail string
	Time   time.Time
}

// Path returns the directory in which programs of w start: Subdir in Root.
func (w Workspace) Path() string { return filepath.Join(w.Root, w.Subdir) }

// Env returns NAME=value variables that describe w to a program.
func (w Workspace) Env() []string {
	env := []string{
		"MIDDLEMAN_WORKSPACE_PATH=" + w.Path(),
		"MIDDLEMAN_WORKSPACE_NAME=" + w.Name,
	}
	if w.Branch != "" {
		env = append(env, "MIDDLEMAN_WORKSPACE_BRANCH="+w.Branch, "MIDDLEMAN_WORKSPACE_BASE="+w.Base)
	}
	if w.Ports > 0 {
		env = append(env, "MIDDLEMAN_WORKSPACE_PORT="+strconv.Itoa(w.Port), "MIDDLEMAN_WORKSPACE_PORTS="+strconv.Itoa(w.Ports))
	}
	return env
}
