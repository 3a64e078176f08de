package api

import "time"

// States of an Approval.
const (
	ApprovalWaiting = "waiting"
	ApprovalAllowed = "allowed"
	ApprovalDenied  = "denied"
	ApprovalClosed  = "closed" // nobody waits for a decision any more
)

// Approval is the use of a tool that an agent asked to be allowed, and what was
// decided.
type Approval struct {
	ID          string     `json:"id"`
	SessionID   string     `json:"session_id"`
	WorkspaceID string     `json:"workspace_id"`
	Session     string     `json:"session" doc:"What the session was called then: WORKSPACE/SESSION"`
	Agent       string     `json:"agent" doc:"The agent whose hook asks, such as claude"`
	Tool        string     `json:"tool" doc:"The agent's name of the tool"`
	Summary     string     `json:"summary" doc:"One line"`
	Arguments   string     `json:"arguments" doc:"The tool's arguments, a JSON object as text. Of what a rule decided only the beginning is kept"`
	Diff        string     `json:"diff,omitempty" doc:"What an edit would change"`
	State       string     `json:"state" enum:"waiting,allowed,denied,closed"`
	Rule        string     `json:"rule" doc:"The rule that decided, or because of which the user is asked"`
	Reason      string     `json:"reason" doc:"Why, on one line"`
	DecidedBy   string     `json:"decided_by,omitempty" doc:"rule, command line, or the login or token of whoever answered"`
	CreatedAt   time.Time  `json:"created_at"`
	DecidedAt   *time.Time `json:"decided_at,omitempty"`
}

// Approvals is a page of approvals.
type Approvals struct {
	Approvals []Approval `json:"approvals"`
	Next      string     `json:"next,omitempty"`
}

// NewApproval is what an agent's permission hook asks.
type NewApproval struct {
	ID        string `json:"id" doc:"Chosen by the hook, which asks again with it if the answer did not arrive"`
	Agent     string `json:"agent" maxLength:"64"`
	Tool      string `json:"tool"`
	Arguments string `json:"arguments" doc:"A JSON object as text"`
	Directory string `json:"directory" doc:"The agent's working directory"`
	Path      string `json:"path,omitempty" maxLength:"65536" doc:"The agent's PATH"`
	Plans     bool   `json:"plans,omitempty" doc:"The agent is in plan mode: nothing that it asks for is allowed by a rule"`
	Aside     bool   `json:"aside,omitempty" doc:"A subagent asks: it waits also while the agent itself goes on"`
}

// ApprovalAnswer decides on an approval that waits.
type ApprovalAnswer struct {
	Decision string `json:"decision" enum:"allow,deny"`
	Reason   string `json:"reason,omitempty" maxLength:"1000" doc:"With deny: what the agent is told"`
}
