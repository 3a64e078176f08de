package api

import (
	"time"

	"middleman/workspace"
)

// Leftovers is the answer to a prune, and what prune --json prints.
type Leftovers struct {
	DryRun    bool                 `json:"dry_run"`
	Leftovers []workspace.Leftover `json:"leftovers"`
}

// Import asks for worktrees that exist already to become workspaces.
type Import struct {
	Directory string   `json:"directory,omitempty" doc:"A directory in the repository whose worktrees are imported if no paths are given"`
	Paths     []string `json:"paths,omitempty" maxItems:"1000" doc:"Directories, each in a worktree or kept by an interrupted deletion"`
}

// Imported is the answer to an import.
type Imported struct {
	DryRun     bool               `json:"dry_run"`
	Workspaces []Workspace        `json:"workspaces"`
	Deleted    []Workspace        `json:"deleted" doc:"Deleted workspaces that can be restored again"`
	Passed     []workspace.Passed `json:"passed" doc:"What was not imported"`
}

// PruneQuery says what a prune may remove beside leftovers that hold nothing.
type PruneQuery struct {
	// Snapshots is the age from which what is kept of a deleted workspace goes;
	// 0 means never.
	Snapshots time.Duration
	// Workers lets go of the record of each worker that has ended and whose parent
	// is gone, however old it is.
	Workers bool
	DryRun  bool // only say what would be removed
}

// Repair asks the server to find moved workspaces and repositories.
type Repair struct {
	Workspace  string `json:"workspace,omitempty" doc:"Id of a workspace; empty means all workspaces that were moved or whose repository was moved"`
	Repository string `json:"repository,omitempty" doc:"A directory in the repository, at the path where the repository is now"`
	Directory  string `json:"directory,omitempty" doc:"The user's current directory: if it is in a repository, that is tried for workspaces whose own is gone"`
}

// Repaired is the answer to a repair.
type Repaired struct {
	DryRun     bool               `json:"dry_run"`
	Workspaces []Workspace        `json:"workspaces" doc:"The workspaces that were found, as they are now"`
	Found      []string           `json:"found" doc:"One line for each thing that was found, with its path"`
	Failed     []workspace.Passed `json:"failed" doc:"Workspaces that were not repaired, by their names"`
}
