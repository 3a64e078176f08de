package model

import (
	"path/filepath"
	"strconv"
	"time"
)

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

// Path is the directory that programs of w begin in: its sub-directory where
// it has one.
func (w Workspace) Path() string { return filepath.Join(w.Root, w.Subdir) }

// Env tells a program where it is, as NAME=value.
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
