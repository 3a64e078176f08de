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

// NewSubscription asks for notices by Web Push, as the browser's PushSubscription has it.
type NewSubscription struct {
	Endpoint string `json:"endpoint" maxLength:"2048" doc:"The URL at the browser's push service"`
	Key      []byte `json:"key" maxLength:"256" doc:"The browser's public key (p256dh), an uncompressed point of P-256"`
	Auth     []byte `json:"auth" maxLength:"64" doc:"The browser's secret (auth), 16 bytes"`
	Content  bool   `json:"content,omitempty" doc:"Also send names and reasons. By default a message has the kind and the session's id alone"`
}

// Subscription says whether notices are pushed to the browser of a login.
type Subscription struct {
	ServerKey []byte `json:"server_key" doc:"The server's public key, with which the browser subscribes"`
	Endpoint  string `json:"endpoint,omitempty" doc:"Where they are sent; unset for nowhere"`
	Content   bool   `json:"content"`
	Problem   string `json:"problem,omitempty" doc:"Why the last message was not taken"`
}
