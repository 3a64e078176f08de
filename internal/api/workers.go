package api

import (
	"time"

	"middleman/terminal"
	"middleman/workspace"
)

// NewWorker asks for a worker: a session that another session starts.
type NewWorker struct {
	Name      string     `json:"name,omitempty" doc:"The name of the new workspace, or with isolation shared of the session; empty lets the server choose one"`
	Suffix    bool       `json:"suffix,omitempty" doc:"If that name is taken, the worker gets a number: fix-2"`
	Isolation string     `json:"isolation,omitempty" enum:"worktree,shared" doc:"A worktree on a branch of its own from the parent's HEAD (default), or the parent's directory"`
	Directory string     `json:"directory,omitempty" doc:"The directory to start in, within the parent's scope. A relative path begins at the directory where the parent's session was started, which is the default"`
	Session   NewSession `json:"session"`
}

// Worker is a worker in the form for clients, running or ended.
type Worker struct {
	ID              string          `json:"id" doc:"The id of its session"`
	Name            string          `json:"name" doc:"The name of its session"`
	Isolation       string          `json:"isolation" enum:"worktree,shared"`
	Depth           int             `json:"depth" doc:"1 for a worker of the user's own session, 2 for a worker of such a worker"`
	ParentSession   string          `json:"parent_session"`
	ParentWorkspace string          `json:"parent_workspace"`
	WorkspaceID     string          `json:"workspace_id" doc:"The workspace that it works in; with isolation shared its parent's"`
	WorkspaceName   string          `json:"workspace_name"`
	Path            string          `json:"path,omitempty" doc:"The directory where it was started"`
	Branch          string          `json:"branch,omitempty" doc:"Its branch, in its parent's repository"`
	Base            string          `json:"base,omitempty" doc:"The commit that its branch began at"`
	Tip             string          `json:"tip,omitempty" doc:"The commit that its branch was at when it ended"`
	State           terminal.State  `json:"state"`
	Exit            *terminal.Exit  `json:"exit,omitempty"`
	Error           string          `json:"error,omitempty"`
	StartedAt       time.Time       `json:"started_at"`
	EndedAt         *time.Time      `json:"ended_at,omitempty"`
	Left            *workspace.Loss `json:"left,omitempty" doc:"The work in its directory that was on no branch when it ended, and the commits that were only on its branch"`
	LeftUnknown     string          `json:"left_unknown,omitempty" doc:"Why left is not known"`
	Present         bool            `json:"present" doc:"Whether its workspace still exists"`
}

// Workers has the workers of a session, or all workers, oldest first.
type Workers struct {
	Workers []Worker `json:"workers"`
}

// Spawned is the answer to a spawn.
type Spawned struct {
	Workspace Workspace `json:"workspace"`
	Session   Session   `json:"session"`
	Isolation string    `json:"isolation"`
	Warnings  []string  `json:"warnings,omitempty" doc:"Warnings for the user, such as uncommitted work of the parent that the worker does not have"`
}
