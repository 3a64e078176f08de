package server

import (
	"context"
	"net/http"
	"time"

	"middleman/internal/api"
	"middleman/internal/store"
	"middleman/workspace"
)

// maxPoll bounds how long one request waits.
const maxPoll = time.Minute

// Parameters that several routes have. They are exported because huma only
// looks into exported fields.

// WorkspacePath is a workspace in a path.
type WorkspacePath struct {
	Workspace string `path:"workspace" doc:"Id of a workspace"`
}

// PageQuery says which part of a list.
type PageQuery struct {
	Cursor string `query:"cursor" doc:"What the page before gave as next"`
	Limit  int    `query:"limit" minimum:"0" maximum:"500"`
}

func (p PageQuery) page() store.Page { return store.Page{Cursor: p.Cursor, Limit: p.Limit} }

type listIn struct{ PageQuery }

type listWorkspacesIn struct {
	PageQuery
	StatusQuery
	Deleted bool `query:"deleted" doc:"Those that were deleted and can be restored, instead, in the order of their deletion"`
}

type restoreIn struct {
	WorkspacePath
	KeyHeader
}

type createIn struct {
	KeyHeader
	Body api.NewWorkspace
}

// KeyHeader documents a header, which withBody has dealt with.
type KeyHeader struct {
	Key string `header:"Idempotency-Key" doc:"A second request with the same key gets the first one's answer"`
}

type getWorkspaceIn struct {
	WorkspacePath
	StatusQuery
	Wait string `query:"wait" doc:"How long to wait while the workspace is being made or restored, such as 30s"`
}

type deleteWorkspaceIn struct {
	WorkspacePath
	KeyHeader
	DiscardWork  bool `query:"discard_work" doc:"Delete work that is nowhere else"`
	StopSessions bool `query:"stop_sessions" doc:"Stop running sessions"`
	SkipTeardown bool `query:"skip_teardown" doc:"Skip the teardown commands, where the workspace has any"`
	Workers      bool `query:"workers" doc:"Delete the workspaces of its workers first, deepest first, each by the same consents"`
	DryRun       bool `query:"dry_run" doc:"Only say what would be done"`
}

type workspaceEventsIn struct {
	WorkspacePath
	EventsHeader
}

func (s *Server) workspaceRoutes() {
	create := route(http.MethodPost, "/workspaces", "create-workspace", "Make a workspace", accessFull)
	create.DefaultStatus = http.StatusAccepted
	create.Description = "Bad input is refused at once; what takes longer is followed by the workspace's stages."
	add(s, create, s.postWorkspace)
	add(s, route(http.MethodGet, "/workspaces", "list-workspaces", "Workspaces, oldest first", accessRead), s.getWorkspaces)
	add(s, route(http.MethodGet, "/workspaces/{workspace}", "get-workspace", "A workspace with its stages and sessions", accessRead), s.getWorkspace)
	remove := route(http.MethodDelete, "/workspaces/{workspace}", "delete-workspace", "Delete a workspace", accessFull)
	remove.Description = "Refused with 409 and the list of what would be lost. Discarding work and stopping sessions are separate consents."
	add(s, remove, s.removeWorkspace)
	retry := route(http.MethodPost, "/workspaces/{workspace}/retry", "retry-workspace", "Try a failed creation again", accessFull)
	retry.DefaultStatus = http.StatusAccepted
	retry.Description = "It goes on at the stage that failed: what is there already stays. Its stages tell how it goes."
	add(s, retry, s.postRetry)
	restore := route(http.MethodPost, "/workspaces/{workspace}/restore", "restore-workspace", "Restore a deleted workspace", accessFull)
	restore.Description = "Brings back directory, branch, index and what git was in the middle of. It gets another name or branch where its own is taken."
	add(s, restore, s.postRestore)
	add(s, eventRoute("/workspaces/{workspace}/events", "workspace-events", "What happens to one workspace"),
		func(ctx context.Context, in *workspaceEventsIn) (*stream, error) {
			if _, err := s.Store.Workspace(ctx, in.Workspace); err != nil {
				return nil, err
			}
			return s.eventStream(in.LastEventID, in.Workspace), nil
		})
}

func (s *Server) postWorkspace(ctx context.Context, in *createIn) (*reply[api.Created], error) {
	w, err := s.createWorkspace(ctx, in.Body)
	if err != nil {
		return nil, err
	}
	v, err := s.wholeWorkspace(ctx, w)
	return &reply[api.Created]{api.Created{Workspace: v}}, err
}

func (s *Server) postRetry(ctx context.Context, in *restoreIn) (*reply[api.Created], error) {
	var w workspace.Workspace
	err := s.work.run(ctx, func(ctx context.Context) (err error) {
		w, err = s.retryWorkspace(ctx, in.Workspace)
		return err
	})
	if err != nil {
		return nil, err
	}
	v, err := s.wholeWorkspace(ctx, w)
	return &reply[api.Created]{api.Created{Workspace: v}}, err
}

func (s *Server) postRestore(ctx context.Context, in *restoreIn) (*reply[api.Restored], error) {
	var out api.Restored
	err := s.work.run(ctx, func(ctx context.Context) (err error) {
		out, err = s.restoreWorkspace(ctx, in.Workspace)
		return err
	})
	return &reply[api.Restored]{out}, err
}

func (s *Server) getWorkspaces(ctx context.Context, in *listWorkspacesIn) (*reply[api.Workspaces], error) {
	if in.Deleted {
		return s.getDeleted(ctx, in.page())
	}
	list, next, err := s.Store.Workspaces(ctx, in.page())
	out := api.Workspaces{Workspaces: []api.Workspace{}, Next: next}
	statuses := s.statuses(ctx, list, in.StatusQuery)
	for i, w := range list {
		v := s.workspaceView(w)
		v.Status = statuses[i]
		out.Workspaces = append(out.Workspaces, v)
	}
	return &reply[api.Workspaces]{out}, err
}

func (s *Server) getDeleted(ctx context.Context, page store.Page) (*reply[api.Workspaces], error) {
	list, next, err := s.Store.DeletedWorkspaces(ctx, page)
	out := api.Workspaces{Workspaces: []api.Workspace{}, Next: next}
	for _, d := range list {
		v := s.workspaceView(d.Workspace)
		v.DeletedAt = &d.DeletedAt
		out.Workspaces = append(out.Workspaces, v)
	}
	return &reply[api.Workspaces]{out}, err
}

func (s *Server) getWorkspace(ctx context.Context, in *getWorkspaceIn) (*reply[api.Workspace], error) {
	limit, err := parseDuration("wait", in.Wait, 0, maxPoll)
	if err != nil {
		return nil, err
	}
	w, err := s.waitCreated(ctx, in.Workspace, limit)
	if err != nil {
		return nil, err
	}
	v, err := s.wholeWorkspace(ctx, w)
	v.Status = s.statuses(ctx, []workspace.Workspace{w}, in.StatusQuery)[0]
	return &reply[api.Workspace]{v}, err
}

func (s *Server) removeWorkspace(ctx context.Context, in *deleteWorkspaceIn) (*reply[api.Deleted], error) {
	var out api.Deleted
	err := s.work.run(ctx, func(ctx context.Context) (err error) {
		consents := consent{discardWork: in.DiscardWork, stopSessions: in.StopSessions, skipTeardown: in.SkipTeardown, workers: in.Workers}
		out, err = s.dispose(ctx, in.Workspace, consents, in.DryRun)
		return err
	})
	return &reply[api.Deleted]{out}, err
}
