// Package api holds the JSON shapes of the HTTP API, which the server, the
// command line and tests share. It has no behaviour.
package api

import (
	"time"

	"middleman/internal/agent"
	"middleman/internal/egress"
	"middleman/internal/sandbox"
	"middleman/terminal"
	"middleman/workspace"
)

// SchemaVersion is the version of every JSON object that the command line
// prints, as "schema".
const SchemaVersion = 1

// Workspace is a workspace in the form for clients. It never contains a path of
// middleman's own state.
type Workspace struct {
	ID            string          `json:"id"`
	Name          string          `json:"name" doc:"Unique among the workspaces of its repository"`
	Label         string          `json:"label" doc:"What to type for it: the name, or NAME@REPOSITORY if workspaces of several repositories have the name"`
	Mode          workspace.Mode  `json:"mode"`
	Path          string          `json:"path" doc:"The directory that sessions open in, sub-directory included"`
	Root          string          `json:"root" doc:"The workspace's own directory"`
	Repository    string          `json:"repository,omitempty" doc:"Top of the repository that a worktree belongs to"`
	Runtime       string          `json:"runtime,omitempty" doc:"The remote runtime that it is on; what to type for it is this, a colon and the label. Unset for this server's own"`
	RepoName      string          `json:"repository_name,omitempty" doc:"The end of repository, as much of it as no other repository has"`
	Branch        string          `json:"branch,omitempty"`
	OwnBranch     bool            `json:"own_branch,omitempty" doc:"The branch was made for the workspace: only then may a delete remove it"`
	Base          string          `json:"base,omitempty" doc:"The base that was asked for"`
	BaseCommit    string          `json:"base_commit,omitempty"`
	Port          int             `json:"port,omitempty" doc:"The first of the TCP ports that are reserved for this workspace"`
	Ports         int             `json:"ports,omitempty" doc:"How many consecutive TCP ports are reserved"`
	State         workspace.State `json:"state"`
	Error         string          `json:"error,omitempty"`
	Problem       string          `json:"problem,omitempty" doc:"Which directory or repository is missing or was moved, and what to do"`
	Ephemeral     bool            `json:"ephemeral,omitempty" doc:"Whether it is deleted when its program has ended, unless it holds work"`
	CreatedAt     time.Time       `json:"created_at"`
	DeletedAt     *time.Time      `json:"deleted_at,omitempty" doc:"When it was deleted; only set for a deleted workspace"`
	NotRestorable bool            `json:"not_restorable,omitempty" doc:"Whether only the transcripts of its sessions are kept; only set for a deleted workspace"`
	Parent        string          `json:"parent,omitempty" doc:"The workspace whose session spawned it as a worker"`
	ParentSession string          `json:"parent_session,omitempty" doc:"The session that spawned it"`
	// Status is set if the request asked for it and there is a repository.
	Brought  *Brought          `json:"sandbox,omitempty" doc:"What its sandboxed sessions have committed; unset if that is nothing, or not known yet"`
	Status   *workspace.Status `json:"status,omitempty" doc:"Its status as of a time; only if asked for, and only for a workspace in a repository"`
	Stages   []Stage           `json:"stages,omitempty"`
	Sessions []Session         `json:"sessions,omitempty"`
	// Attention is what lists show of it while it has no session.
	Attention *Attention `json:"attention,omitempty" doc:"What lists show of it while it has no session"`
}

// Attention says whether a session needs its user, and its place in lists.
type Attention struct {
	Group string    `json:"group" enum:"needs-you,unknown,ready,working,ended" doc:"The groups are shown in this order"`
	State string    `json:"state" doc:"What it does, in words"`
	Since time.Time `json:"since"`
	Order string    `json:"order" doc:"Sort by it, as text, to get the order in which every list shows sessions"`
}

// Brought is what the last import of commits of sandboxed sessions did.
type Brought struct {
	Branch  string   `json:"branch,omitempty" doc:"The workspace's branch, which imports move"`
	Commits int      `json:"commits" doc:"How many commits it got"`
	Head    string   `json:"head,omitempty" doc:"Where HEAD is in the sandbox, if not on that branch: the full ref of another branch, or a commit. The checkout outside does not follow"`
	Kept    []string `json:"kept,omitempty" doc:"Refs of the repository that keep what else is new in the sandbox: other branches, what is stashed or staged, commits in conflict"`
	Problem string   `json:"problem,omitempty" doc:"What could not be imported, and why"`
}

// Stage is one recorded step of an operation on a workspace, such as its creation.
type Stage struct {
	Name       string     `json:"name"`
	State      string     `json:"state" enum:"running,done,failed"`
	StartedAt  time.Time  `json:"started_at"`
	FinishedAt *time.Time `json:"finished_at,omitempty"`
	Detail     string     `json:"detail,omitempty"`
}

// Session is a session in the form for clients.
type Session struct {
	ID            string             `json:"id"`
	Name          string             `json:"name" doc:"Unique within the workspace"`
	WorkspaceID   string             `json:"workspace_id"`
	WorkspaceName string             `json:"workspace_name" doc:"The workspace's label"`
	Runtime       string             `json:"runtime,omitempty" doc:"The remote runtime that it is on; unset for this server's own"`
	Backend       string             `json:"backend"`
	State         terminal.State     `json:"state"`
	PID           int                `json:"pid"`
	Offset        uint64             `json:"offset" doc:"The head: how many bytes of output there are so far"`
	Argv          []string           `json:"argv,omitempty"`
	Size          terminal.Size      `json:"size"`
	Title         string             `json:"title,omitempty"`
	Foreground    string             `json:"foreground,omitempty" doc:"What the program that has its terminal's foreground calls itself, such as a command that its shell runs; unset if that is the session's own program, or is not known"`
	Writer        *terminal.Writer   `json:"writer,omitempty"`
	Watchers      int                `json:"watchers"`
	Unseen        *terminal.Unseen   `json:"unseen,omitempty" doc:"What it has printed since somebody last looked, attached or watching; unset if that is not known, and of an ended session"`
	KeepOutput    *int64             `json:"keep_output,omitempty" doc:"The least number of output bytes that are kept, 0 for all; unset if that is not known"`
	Clipboard     terminal.Clipboard `json:"clipboard,omitempty" doc:"Whether the program may set the attached viewer's clipboard: allow, ask or deny; unset if that is not known, which means allow"`
	Journal       string             `json:"journal,omitempty" doc:"Why output is not being kept at present; empty if it is being kept"`
	Exit          *terminal.Exit     `json:"exit,omitempty"`
	Left          []int              `json:"left,omitempty" doc:"Processes that outlive an ended program"`
	Error         string             `json:"error,omitempty"`
	Note          string             `json:"note,omitempty" doc:"Why a session that was just started is not in the backend that was tried first"`
	CreatedAt     time.Time          `json:"created_at"`
	DeletedAt     *time.Time         `json:"workspace_deleted_at,omitempty" doc:"When its workspace was deleted; only set for a session of a deleted workspace"`
	Parent        string             `json:"parent,omitempty" doc:"The session that started it as a worker"`
	Profile       string             `json:"profile,omitempty" doc:"The profile that it was started with; unset for the shell or a command"`
	Conversation  string             `json:"conversation,omitempty" doc:"The id by which its program takes the conversation up again, if it is known"`
	Settled       bool               `json:"settled,omitempty" doc:"Whether its end needs nobody any more: its conversation was taken up again, another session was started in its place, or it was stopped since"`
	Source        string             `json:"source" doc:"Where the state comes from: owner, disk or store"`
	Sandbox       *sandbox.Applied   `json:"sandbox,omitempty" doc:"What its sandbox does; unset for level none"`
	Bundle        *SessionBundle     `json:"bundle,omitempty" doc:"The bundle that its profile comes from, and what the host gave of what that asks; unset for a profile that is built in, the user's own or a repository's"`
	Denied        []egress.Denial    `json:"denied,omitempty" doc:"What its network list denied last; only where one session is asked for, and while it runs"`
	Agent         *agent.Status      `json:"agent,omitempty" doc:"What its program does, and why that is believed; unset for a program that no rules are known for and that has reported nothing"`
	Attention     *Attention         `json:"attention,omitempty" doc:"Whether it needs its user, and its place in lists"`
	// Environment is set if one session was asked for.
	Environment []terminal.Variable `json:"environment,omitempty" doc:"Its variables and where the value of each came from, never a value; only where one session is asked for, and not for a token of that session alone"`
	AsOf        time.Time           `json:"as_of"`
}

// NewWorkspace asks for a workspace.
type NewWorkspace struct {
	Name      string         `json:"name,omitempty" doc:"Empty lets the server choose one; feature/x is branch feature/x and workspace feature-x"`
	Suffix    bool           `json:"suffix,omitempty" doc:"If the repository has a workspace of that name already, the new one gets a number: fix-2"`
	Mode      workspace.Mode `json:"mode,omitempty"`
	Directory string         `json:"directory,omitempty" doc:"The user's directory: in the repository (mode worktree), or the directory to work in (mode in-place). Absolute, or ~ and a path below the home directory on the server's machine"`
	Base      string         `json:"base,omitempty"`
	Branch    string         `json:"branch,omitempty" doc:"An existing branch, local or of a remote, is used; otherwise it is made. Empty means a new branch named after the workspace"`
	Ephemeral bool           `json:"ephemeral,omitempty" doc:"Whether it is deleted when no process holds its lease any more, unless it holds work"`
	Place     string         `json:"place,omitempty" doc:"Where a worktree is made: data (the data directory), repository (.middleman/work of the repository), or the absolute path of a directory for worktrees; unset means the server's setting"`
	Filters   bool           `json:"filters,omitempty" doc:"Run the programs that the repository's own git configuration names: filters and transport"`
	// Session, if set, is started once the workspace's setup has run.
	Session *NewSession `json:"session,omitempty"`
}

// Rename asks for another name of a workspace or a session.
type Rename struct {
	Name string `json:"name"`
}

// NewSession asks for a session.
type NewSession struct {
	Name    string     `json:"name,omitempty"`
	Command []string   `json:"command,omitempty" doc:"Empty starts the user's shell"`
	Profile string     `json:"profile,omitempty" doc:"What to launch instead of a command: a built-in profile, one of the user's, or one that the repository has and the user agreed to; shell is the user's shell"`
	Bundle  *BundleRef `json:"bundle,omitempty" doc:"The bundle that the profile is of; unset for a profile that is built in, the user's own or a repository's"`
	// Capabilities narrow what is asked for.
	Capabilities []string      `json:"capabilities,omitempty" doc:"Which of the optional declarations of the bundle's profile to ask the host for; unset means all of them"`
	Restarts     string        `json:"restarts,omitempty" doc:"The id of an ended session of the workspace, in whose place this one is started"`
	Prompt       string        `json:"prompt,omitempty" doc:"The first prompt for the profile's program"`
	Backend      string        `json:"backend,omitempty" enum:"auto,tmux,pty-owner"`
	Sandbox      sandbox.Level `json:"sandbox,omitempty" enum:"none,workspace,strict" doc:"What it may touch; unset means what the profile or the settings say. That of a worker is never weaker than its parent's"`
	Network      []string      `json:"network,omitempty" doc:"The hosts that it can reach in its sandbox, as HOST, HOST:PORT or *.HOST; unset means what the profile or the settings say. Those of a worker are among its parent's"`
	Size         terminal.Size `json:"size,omitzero"`
	// The fields below say what the session's environment is made of. It is the
	// user's login environment unless CallerEnv is set.
	Env       []string `json:"env,omitempty" doc:"NAME=value each; these win over the rest of the environment"`
	CleanEnv  bool     `json:"clean_env,omitempty" doc:"Only what is on the allow-list, and env"`
	CallerEnv [][]byte `json:"caller_env,omitzero" doc:"The environment of the shell that asks, NAME=value each in base64; over the Unix socket only. Unset means the user's login environment"`
	AgentLink bool     `json:"agent_link,omitempty" doc:"With caller_env: SSH_AUTH_SOCK leads to the SSH agent of whoever attached last"`
	// KeepOutput is a pointer because 0 has a meaning of its own: keep all.
	KeepOutput *int64 `json:"keep_output,omitempty" minimum:"0" doc:"The least number of output bytes to keep, 0 for all; unset means the server's setting. A worker keeps no more than its parent"`
	// Clipboard is the session's policy. For each viewer, the stricter of this and
	// the viewer's own policy applies.
	Clipboard terminal.Clipboard `json:"clipboard,omitempty" enum:"allow,ask,deny" doc:"Whether the program may set the attached viewer's clipboard; unset means the server's setting. That of a worker is never weaker than its parent's"`
}

// Retry asks for another attempt at a creation. Without caller_env a first
// session has the user's login environment.
type Retry struct {
	Sandbox   sandbox.Level `json:"sandbox,omitempty" enum:"none,workspace,strict" doc:"What a first session may touch, instead of what was asked for"`
	CallerEnv [][]byte      `json:"caller_env,omitzero" doc:"For a first session that was asked for with one, see there; that is not kept"`
}

// Workspaces is a page of workspaces.
type Workspaces struct {
	Workspaces []Workspace `json:"workspaces"`
	Sessions   []Session   `json:"sessions,omitempty"`
	Next       string      `json:"next,omitempty" doc:"Cursor of the next page"`
}

// Sessions is a page of sessions.
type Sessions struct {
	Sessions []Session `json:"sessions"`
	Next     string    `json:"next,omitempty"`
}

// Created is the answer to a creation, and what new --json prints.
type Created struct {
	Workspace Workspace `json:"workspace"`
	Session   *Session  `json:"session,omitempty"`
}

// Shown is what show --json prints.
type Shown struct {
	Workspace Workspace `json:"workspace"`
	Sessions  []Session `json:"sessions"`
	AsWorkers []Worker  `json:"as_workers,omitempty"` // for the sessions that are workers themselves
	Workers   []Worker  `json:"workers,omitempty"`    // the workers that these sessions started
}

// Deleted says what a deletion removed, or with a dry run would remove.
type Deleted struct {
	Workspace Workspace      `json:"workspace"`
	Lost      workspace.Loss `json:"lost"`
	Stopped   []Session      `json:"stopped,omitempty"`
	Warnings  []string       `json:"warnings,omitempty"`
	// In a dry run, the fields below say what the deletion would do.
	Restorable bool      `json:"restorable" doc:"Whether a restore brings back what is lost, except for what unkept lists"`
	Workers    []Deleted `json:"workers,omitempty" doc:"The workspaces of its workers, which are deleted before it"`
	Teardown   []string  `json:"teardown,omitempty" doc:"Commands of the repository's configuration that were run, or would be"`
	RestoreAs  string    `json:"restore_as,omitempty" doc:"By what a restore finds it: its label, or its id if another deleted workspace has its name"`
	Unkept     []string  `json:"unkept,omitempty" doc:"Ignored files that are too large to be kept, and entries that are neither file, link nor directory"`
	// Transcripts counts the sessions of this workspace alone.
	Transcripts TranscriptCount `json:"transcripts" doc:"The transcripts of its sessions: their output, last screens and exits"`
}

// Restored is the answer to a restore.
type Restored struct {
	Workspace Workspace `json:"workspace"`
	Warnings  []string  `json:"warnings,omitempty" doc:"What differs from before: another name or branch, and what was not kept"`
	Sessions  int       `json:"sessions" doc:"How many ended sessions came back with their transcripts"`
}

// Merge asks to merge a workspace.
type Merge struct {
	Into     string `json:"into,omitempty" doc:"A local branch; its base if this is empty"`
	Strategy string `json:"strategy,omitempty" enum:"merge,rebase,squash" doc:"merge: its commits stay as they are (the default); rebase: copies of them follow the other branch; squash: one commit has all that they change"`
	Message  string `json:"message,omitempty" maxLength:"65536" doc:"Of the commit that is made"`
	Filters  bool   `json:"filters,omitempty" doc:"In both checkouts, allow filters that the repository's own configuration names"`
	DryRun   bool   `json:"dry_run,omitempty" doc:"Only report what would be done"`
}

// Merged is what a merge has done, or would do.
type Merged struct {
	DryRun bool `json:"dry_run"`
	workspace.Merged
	Check    []string `json:"check,omitempty" doc:"The commands of the repository that ran before, or would"`
	Warnings []string `json:"warnings,omitempty"`
}

// Push asks to push a workspace's branch.
type Push struct {
	Remote  string `json:"remote,omitempty" doc:"The one that git would push to if this is empty"`
	Filters bool   `json:"filters,omitempty" doc:"Allow programs that the repository's configuration names to reach the remote, and the hooks of a remote that is a directory"`
	Agent   string `json:"agent,omitempty" doc:"SSH_AUTH_SOCK of the caller; taken over the Unix socket only"`
	// ForceWithLease is as in workspace.PushRequest.
	ForceWithLease bool `json:"force_with_lease,omitempty" doc:"Replace the remote's branch if that is at a commit which the workspace's branch has had, as before an amend or a rebase"`
	DryRun         bool `json:"dry_run,omitempty" doc:"Contact no remote"`
}

// Pushed is what a push has done, or would do.
type Pushed struct {
	DryRun bool `json:"dry_run"`
	workspace.Pushed
}

// Conflicts is a page of the forecast of merges with other workspaces.
type Conflicts struct {
	Others []workspace.Forecast `json:"others" doc:"The other live workspaces of its repository"`
	Total  int                  `json:"total" doc:"How many there are"`
	Next   string               `json:"next,omitempty"`
}

// Serve is serve.json in the runtime directory: how to reach the server.
type Serve struct {
	Address string `json:"address"`
	Socket  string `json:"socket"`
	PID     int    `json:"pid"`
	Start   string `json:"start,omitempty"` // of the process, see proc.StartOf
	Version string `json:"version"`
	TLS     bool   `json:"tls,omitempty"`
}

// URL returns the URL where browsers reach the server.
func (s Serve) URL() string {
	if s.TLS {
		return "https://" + s.Address
	}
	return "http://" + s.Address
}

// Event is the data of a server-sent event; its type is the SSE event name:
// "workspace" (created, changed), "workspace-deleted", "session" (started,
// changed, exited), "session-removed", "stage", "approval" (waits, was answered),
// "denied" (the network list of the session ID refused something), "notification"
// (the program of the session ID wants its user to be told Text); of remote runtimes,
// if they are asked for, "remote" (Remote happened on Runtime) and "runtime" (the
// state of Runtime has changed, it was added, or without State removed).
type Event struct {
	Type      string          `json:"type"`
	Time      time.Time       `json:"time"`
	Workspace *Workspace      `json:"workspace,omitempty"`
	Session   *Session        `json:"session,omitempty"`
	ID        string          `json:"id,omitempty"`
	Stage     *Stage          `json:"stage,omitempty"`
	Approval  *Approval       `json:"approval,omitempty"`
	Notice    *Notice         `json:"notice,omitempty"`
	Denied    []egress.Denial `json:"denied,omitempty"`
	Runtime   string          `json:"runtime,omitempty"`
	Remote    *Event          `json:"remote,omitempty"`
	State     *Runtime        `json:"runtime_state,omitempty"`
	Text      string          `json:"text,omitempty" doc:"Of a notification: what the session's program wants its user to be told, by OSC 9, 99 or 777"`
}

// The types of events of remote runtimes.
const (
	RemoteEvent  = "remote"
	RuntimeEvent = "runtime"
)

// Backends has all backends of a server, usable or not.
type Backends struct {
	Backends []Backend `json:"backends"`
}

// Backend is a backend and whether it can start a session now.
type Backend struct {
	Name    string `json:"name"`
	Usable  bool   `json:"usable"`
	Reason  string `json:"reason,omitempty" doc:"Why no session can be started with it"`
	Default bool   `json:"default" doc:"Whether it is used for a session that names no backend"`
}

// UnknownHook is an event of an agent's hook that this version does not know.
type UnknownHook struct {
	Agent string `json:"agent"`
	Event string `json:"event"`
	Count int    `json:"count" doc:"How often it came since the server started"`
}

// Health says that the server answers.
type Health struct {
	Status string `json:"status" enum:"ok"`
}

// Server describes a server's process.
type Server struct {
	PID        int            `json:"pid"`
	Version    string         `json:"version"`
	Since      time.Time      `json:"since" doc:"When it was started"`
	URL        string         `json:"url" doc:"Where browsers reach it"`
	Background bool           `json:"background" doc:"It has no terminal, and writes a log file"`
	Waiting    []string       `json:"waiting,omitempty" doc:"Settings that were changed since, and take effect with the next start"`
	Notify     *NoticeCommand `json:"notify,omitempty" doc:"The command for notices, if the settings name one"`
	Unknown    []UnknownHook  `json:"unknown_hooks,omitempty" doc:"Events of agents' hooks that this version does not know"`
	Full       []string       `json:"full,omitempty" doc:"Limits of connections that were reached since the start"`
	LeftOut    []string       `json:"path_left_out,omitempty" doc:"Directories of its PATH that it does without, and why: sandboxed programs can write there"`
	Problem    string         `json:"problem,omitempty" doc:"Why the settings cannot be read now, so that it could not start again"`
}

// Current and Oldest are the newest and the oldest version of the API that this
// build speaks, as a server and as the hub of other servers. Within one version
// fields and routes are only added.
const (
	Current = 1
	Oldest  = 1
)

// Features are the parts of the API that a hub asks for and that not every server
// of the same API need have.
var Features = []string{FeatureKeepEnded, FeatureProgram}

// FeatureKeepEnded: a session is stopped without the removal of one that has ended.
const FeatureKeepEnded = "keep-ended"

// FeatureProgram: a restart can name the program that goes on as the server.
const FeatureProgram = "restart-program"

// Version is the version of a server's build, and what it speaks.
type Version struct {
	Version   string   `json:"version"`
	Go        string   `json:"go"`
	API       int      `json:"api" doc:"The version of this API"`
	OldestAPI int      `json:"oldest_api" doc:"The oldest version of the API that the server still speaks"`
	Features  []string `json:"features" doc:"Parts of the API that not every server of that version has"`
}

// Waited is the answer to a wait: the condition that held, and the offset where
// it did.
type Waited struct {
	For     string  `json:"for" enum:"exit,text,regex,quiet"`
	Match   string  `json:"match,omitempty" doc:"The text on the screen that matched"`
	Offset  uint64  `json:"offset"`
	Session Session `json:"session"`
}

// Codes of RFC 9457 problems; stable, for programs to branch on.
const (
	CodeBadRequest       = "bad-request"
	CodeUnauthorized     = "unauthorized"
	CodeForbidden        = "forbidden"
	CodeBadHost          = "bad-host"
	CodeBadOrigin        = "bad-origin"
	CodeNotFound         = "not-found"
	CodeAmbiguous        = "ambiguous"
	CodeNameTaken        = "name-taken"
	CodeBranchTaken      = "branch-taken"
	CodeNotRepository    = "not-a-repository"
	CodeNoCommits        = "no-commits"
	CodeBadName          = "bad-name"
	CodeBadBase          = "bad-base"
	CodeEscapes          = "escapes-base"
	CodeWorkWouldLose    = "work-would-be-lost"
	CodeUnknownLoss      = "loss-unknown"
	CodeSessionsRun      = "sessions-running"
	CodeNotDeleted       = "not-deleted"
	CodeNotFailed        = "not-failed"
	CodeTooManyWorkers   = "too-many-workers"
	CodeHasWorkers       = "has-workers"
	CodeWriterBusy       = "writer-busy"
	CodeStartFailed      = "start-failed"
	CodeUnreachable      = "unreachable"
	CodeEnded            = "ended"
	CodeTrimmed          = "trimmed"
	CodeTimeout          = "timed-out"
	CodeUnsupported      = "unsupported"
	CodeBadConfig        = "bad-config"
	CodeConfigChanged    = "config-changed"
	CodeSetupFailed      = "setup-failed"
	CodeTeardown         = "teardown-failed"
	CodeInternal         = "internal"
	CodeTooLarge         = "too-large"
	CodeStopping         = "stopping"
	CodeBusy             = "busy"
	CodeKeyReused        = "idempotency-key-reused"
	CodeKeyBusy          = "idempotency-key-busy"
	CodeRange            = "beyond-output"
	CodeTooManyView      = "too-many-viewers"
	CodeUnsafeBase       = "unsafe-base"
	CodeMissing          = "directory-missing"
	CodeDiskFull         = "disk-full"
	CodeNotKept          = "not-kept"
	CodeNoSnapshot       = "no-snapshot"
	CodeBadSnapshot      = "bad-snapshot"
	CodeHeldUp           = "held-up"
	CodeOccupied         = "place-taken"
	CodeFetch            = "fetch-failed"
	CodeForeign          = "foreign-repository"
	CodeGitFailed        = "git-failed"
	CodeLeavesScope      = "leaves-scope"
	CodeNoPorts          = "no-ports"
	CodeNotLeft          = "not-left-over"
	CodeMoved            = "moved"
	CodeNothingToCompare = "nothing-to-compare"
	CodeReplaced         = "directory-replaced"
	CodeGitReplaced      = "git-replaced"
	CodeUnreadable       = "unreadable"
	CodeChanged          = "screen-changed"
	CodeNotRead          = "input-not-read"
	CodeUncommitted      = "uncommitted-changes"
	CodeConflict         = "merge-conflict"
	CodeInUse            = "branch-in-use"
	CodeCheckFailed      = "check-failed"
	CodeRejected         = "push-rejected"
	CodePushFailed       = "push-failed"
	CodeDialog           = "dialog-shown"
	CodeNotSubmitted     = "not-submitted"
	CodeAnswered         = "answered-already"
	CodeRequestChanged   = "request-changed"
	CodeNotShown         = "not-shown"
	CodeBundleInvalid    = "bundle-invalid"
	CodeBundleMissing    = "bundle-missing"
	CodeBundleDigest     = "bundle-digest"
	CodeBundleProfile    = "bundle-profile"
	CodeBundleDeclared   = "bundle-declaration"
	CodeBundleChanged    = "bundle-changed"
	CodeBundleInUse      = "bundle-in-use"
	CodeBundleStore      = "bundle-store"
	CodeRefusedGrant     = "capability-refused"
	CodeSecret           = "secret-unavailable"
	CodeRuntimeLost      = "runtime-unreachable"
	CodeRuntimeRefused   = "runtime-refused"
)

// Problem is an RFC 9457 problem with a stable code and, for a refused deletion,
// the work that would be lost.
type Problem struct {
	Type     string          `json:"type"`
	Title    string          `json:"title"`
	Status   int             `json:"status"`
	Detail   string          `json:"detail"`
	Code     string          `json:"code"`
	Lost     *workspace.Loss `json:"lost,omitempty"`
	Sessions []Session       `json:"sessions,omitempty"`
	Workers  []Worker        `json:"workers,omitempty" doc:"The workers because of which a workspace was not deleted"`
	Files    []string        `json:"files,omitempty" doc:"The files because of which a workspace was not merged"`
	Field    string          `json:"field,omitempty" doc:"The part of a bundle that is at fault"`
	Taken    *int64          `json:"taken,omitempty" doc:"How many bytes of an input were typed before it failed; of the next 32 KiB it is not known how many were typed"`
}

// Error returns the detail, so that a client can return a *Problem as an error.
func (p *Problem) Error() string { return p.Detail }
