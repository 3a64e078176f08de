package api

import "time"

// The kinds of notices.
const (
	NeedsInput = "needs-input"
	TurnDone   = "done"
	AgentFail  = "failed"
)

// Notice tells the user what their agents need or have done. Several changes
// within two seconds are one notice.
type Notice struct {
	Items []NoticeItem `json:"items"`
}

// NoticeItem is what one session's program needs or has done.
type NoticeItem struct {
	Kind          string    `json:"kind" enum:"needs-input,done,failed" doc:"needs-input: it waits for the user; done: its turn is over, or it has exited with 0; failed: it has exited otherwise, or is lost"`
	Session       string    `json:"session" doc:"The session's id"`
	SessionName   string    `json:"session_name"`
	Runtime       string    `json:"runtime,omitempty" doc:"The remote runtime that it is on; unset for this server's own"`
	Workspace     string    `json:"workspace_id"`
	WorkspaceName string    `json:"workspace_name" doc:"The workspace's label"`
	Profile       string    `json:"profile,omitempty"`
	Reason        string    `json:"reason,omitempty" doc:"One line for the user"`
	Since         time.Time `json:"since"`
}

// NoticeCommand is the user's command for notices, and what became of it since
// the server started.
type NoticeCommand struct {
	Argv     []string  `json:"argv"`
	Runs     int       `json:"runs"`
	Failed   int       `json:"failed"`
	Error    string    `json:"error,omitempty" doc:"Why it failed last"`
	FailedAt time.Time `json:"failed_at,omitzero"`
}
