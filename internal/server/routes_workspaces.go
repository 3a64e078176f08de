package server

import (
	"context"
	"net/http"
	"time"

	"middleman/internal/api"
	"middleman/internal/app"
	"middleman/internal/store"
)

// maxPoll bounds how long one request waits.
const maxPoll = time.Minute

// Parameters of several routes. They are exported because huma reads only
// exported fields.

// WorkspacePath is the path parameter of a workspace.
type WorkspacePath struct {
	Workspace string `path:"workspace" doc:"Id of a workspace, its name, or NAME@REPOSITORY where several repositories have the name"`
}

func (p *WorkspacePath) named() (text *string, deleted bool) { return &p.Workspace, false }

// DeletedPath is the path parameter of a deleted workspace.
type DeletedPath struct{ WorkspacePath }

func (p *DeletedPath) named() (text *string, deleted bool) { return &p.Workspace, true }

// findWorkspace replaces the name of a workspace in the input of a route by its
// id.
func (s *Server) findWorkspace(ctx context.Context, in any) error {
	of, ok := in.(interface{ named() (*string, bool) })
	if !ok {
		return nil
	}
	text, deleted := of.named()
	id, err := s.FindWorkspace(ctx, *text, deleted)
	*text = id
	return err
}

// PageQuery has the query parameters that select a page of a list.
type PageQuery struct {
	Cursor string `query:"cursor" doc:"The value of next in the page before"`
	Limit  int    `query:"limit" minimum:"0" maximum:"500"`
}

func (p PageQuery) page() store.Page { return store.Page{Cursor: p.Cursor, Limit: p.Limit} }

// StatusParams has the query parameters that ask for the status of workspaces.
type StatusParams struct {
	Status bool `query:"status" doc:"Include each workspace's status: the one that is known, with its time. It is read again in the background"`
	Fresh  bool `query:"fresh" doc:"With status: inspect each workspace first"`
}

func (p StatusParams) query() app.StatusQuery {
	return app.StatusQuery{Status: p.Status, Fresh: p.Fresh}
}

type listWorkspacesIn struct {
	PageQuery
	StatusParams
	Deleted bool `query:"deleted" doc:"List the deleted workspaces instead that can be restored or have transcripts, in the order of their deletion"`
}

type restoreIn struct {
	DeletedPath
	KeyHeader
}

type retryIn struct {
	WorkspacePath
	KeyHeader
	Body *api.Retry `required:"false"`
}

type createIn struct {
	KeyHeader
	Body api.NewWorkspace
}

// KeyHeader documents the header Idempotency-Key. withBody handles it.
type KeyHeader struct {
	Key string `header:"Idempotency-Key" doc:"A second request with the same key gets the first one's answer"`
}

type renameWorkspaceIn struct {
	WorkspacePath
	KeyHeader
	Body api.Rename
}

type mergeIn struct {
	WorkspacePath
	KeyHeader
	Body api.Merge
}

type pushIn struct {
	WorkspacePath
	KeyHeader
	Body api.Push
}

type importSandboxIn struct {
	WorkspacePath
	KeyHeader
}

type getWorkspaceIn struct {
	WorkspacePath
	StatusParams
	Wait string `query:"wait" doc:"How long to wait while the workspace is being made or restored, such as 30s"`
}

type deleteWorkspaceIn struct {
	WorkspacePath
	KeyHeader
	DiscardWork  bool `query:"discard_work" doc:"Delete work that is nowhere else"`
	StopSessions bool `query:"stop_sessions" doc:"Stop running sessions"`
	SkipTeardown bool `query:"skip_teardown" doc:"Skip the teardown commands, if the workspace has any"`
	Workers      bool `query:"workers" doc:"Delete the workspaces of its workers first, deepest first, each with the same consents"`
	Forget       bool `query:"forget_transcripts" doc:"Do not keep the transcripts of its sessions"`
	DryRun       bool `query:"dry_run" doc:"Only report what would be done"`
}

type workspaceEventsIn struct {
	WorkspacePath
	EventsHeader
}

func (s *Server) workspaceRoutes() {
	create := route(http.MethodPost, "/workspaces", "create-workspace", "Make a workspace", accessFull)
	create.DefaultStatus = http.StatusAccepted
	create.Description = "Bad input is refused at once. The rest takes longer: follow the workspace's stages."
	add(s, create, s.postWorkspace)
	add(s, route(http.MethodGet, "/workspaces", "list-workspaces", "Workspaces, oldest first", accessRead), s.getWorkspaces)
	add(s, route(http.MethodGet, "/workspaces/{workspace}", "get-workspace", "A workspace with its stages and sessions", accessRead), s.getWorkspace)
	remove := route(http.MethodDelete, "/workspaces/{workspace}", "delete-workspace", "Delete a workspace", accessFull)
	remove.Description = "Refused with 409 and the list of what would be lost. Discarding work and stopping sessions are separate consents. The transcripts of its sessions are kept (see /transcripts), except with forget_transcripts."
	add(s, remove, s.removeWorkspace)
	bring := route(http.MethodPost, "/workspaces/{workspace}/sandbox/import", "import-sandbox", "Import what its sandboxed sessions have committed", accessFull)
	bring.Description = "The server does this by itself when it sees a commit, when a session ends, and before what needs the commits."
	add(s, bring, func(ctx context.Context, in *importSandboxIn) (*reply[api.Brought], error) {
		return answer(s.ImportSandbox(ctx, in.Workspace))
	})
	retry := route(http.MethodPost, "/workspaces/{workspace}/retry", "retry-workspace", "Try a failed creation again", accessFull)
	retry.DefaultStatus = http.StatusAccepted
	retry.Description = "It goes on at the stage that failed, and keeps what exists already. Follow the workspace's stages."
	add(s, retry, s.postRetry)
	restore := route(http.MethodPost, "/workspaces/{workspace}/restore", "restore-workspace", "Restore a deleted workspace", accessFull)
	restore.Description = "Brings back the directory, the branch, the index, and an operation of git that was in progress. The workspace gets another name or branch if its own is taken. A workspace without a snapshot, because it held nothing that is nowhere else, is made again. Its ended sessions come back with their transcripts."
	add(s, restore, s.postRestore)
	rename := route(http.MethodPost, "/workspaces/{workspace}/rename", "rename-workspace", "Give a workspace another name", accessFull)
	rename.Description = "Its path and branch stay, and its sessions go on."
	add(s, rename, func(ctx context.Context, in *renameWorkspaceIn) (*reply[api.Workspace], error) {
		return answer(s.RenameWorkspace(ctx, in.Workspace, in.Body.Name))
	})
	merge := route(http.MethodPost, "/workspaces/{workspace}/merge", "merge-workspace", "Merge a workspace into a branch", accessFull)
	merge.Description = "First the check of the repository's configuration runs, if the user agreed to that. Refused with 409 if the workspace has changes that are not committed, if there are conflicts, or if a checkout of the other branch has changes in the same files; then nothing has changed. A checkout of the other branch is brought forward with it. The workspace stays as it is."
	add(s, merge, func(ctx context.Context, in *mergeIn) (*reply[api.Merged], error) {
		return answer(s.MergeWorkspace(ctx, in.Workspace, in.Body))
	})
	push := route(http.MethodPost, "/workspaces/{workspace}/push", "push-workspace", "Push a workspace's branch to a remote", accessFull)
	push.Description = "The remote's branch of the same name becomes its upstream. Refused with 409 if that has commits that the workspace lacks; with force_with_lease, if it has some that the workspace's branch never had."
	add(s, push, s.postPush)
	add(s, eventRoute("/workspaces/{workspace}/events", "workspace-events", "Events of one workspace"),
		func(ctx context.Context, in *workspaceEventsIn) (*stream, error) {
			if _, err := s.Store.Workspace(ctx, in.Workspace); err != nil {
				return nil, err
			}
			return s.eventStream(in.LastEventID, in.Workspace, false), nil
		})
}

func (s *Server) postWorkspace(ctx context.Context, in *createIn) (*reply[api.Created], error) {
	if in.Body.Session != nil {
		if err := checkCallerEnv(ctx, in.Body.Session.CallerEnv); err != nil {
			return nil, err
		}
	}
	v, err := s.CreateWorkspace(ctx, in.Body)
	return answer(api.Created{Workspace: v}, err)
}

func (s *Server) postRetry(ctx context.Context, in *retryIn) (*reply[api.Created], error) {
	var asked api.Retry
	if in.Body != nil {
		asked = *in.Body
	}
	if err := checkCallerEnv(ctx, asked.CallerEnv); err != nil {
		return nil, err
	}
	v, err := s.RetryWorkspace(ctx, in.Workspace, asked)
	return answer(api.Created{Workspace: v}, err)
}

func (s *Server) postRestore(ctx context.Context, in *restoreIn) (*reply[api.Restored], error) {
	return answer(s.RestoreWorkspace(ctx, in.Workspace))
}

func (s *Server) postPush(ctx context.Context, in *pushIn) (*reply[api.Pushed], error) {
	if id, ok := caller(ctx); in.Body.Agent != "" && (!ok || id.subject != socketSubject) {
		return nil, problemf(api.CodeForbidden, "agent is taken over the Unix socket only")
	}
	return answer(s.PushWorkspace(ctx, in.Workspace, in.Body))
}

func (s *Server) getWorkspaces(ctx context.Context, in *listWorkspacesIn) (*reply[api.Workspaces], error) {
	if in.Deleted {
		return answer(s.ListDeleted(ctx, in.page()))
	}
	return answer(s.ListWorkspaces(ctx, in.page(), in.query()))
}

func (s *Server) getWorkspace(ctx context.Context, in *getWorkspaceIn) (*reply[api.Workspace], error) {
	limit, err := parseDuration("wait", in.Wait, 0, maxPoll)
	if err != nil {
		return nil, err
	}
	return answer(s.Workspace(ctx, in.Workspace, limit, in.query()))
}

func (s *Server) removeWorkspace(ctx context.Context, in *deleteWorkspaceIn) (*reply[api.Deleted], error) {
	consents := app.Consent{
		DiscardWork: in.DiscardWork, StopSessions: in.StopSessions, SkipTeardown: in.SkipTeardown, Workers: in.Workers,
		ForgetTranscripts: in.Forget,
	}
	return answer(s.DeleteWorkspace(ctx, in.Workspace, consents, in.DryRun))
}

// parseDuration parses a duration such as "30s". It returns unset if text is "",
// and limit for a longer duration.
func parseDuration(name, text string, unset, limit time.Duration) (time.Duration, error) {
	if text == "" {
		return unset, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, problemf(api.CodeBadRequest, "%s is %q: it must be a duration such as 30s", name, text)
	}
	return min(d, limit), nil
}
