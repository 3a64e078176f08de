package server

import (
	"context"
	"net/http"
	"runtime"
	"time"

	"middleman/internal/api"
)

// reply is an answer with a JSON body.
type reply[T any] struct{ Body T }

// answer returns out as a reply, and err unchanged.
func answer[T any](out T, err error) (*reply[T], error) { return &reply[T]{out}, err }

// empty is a request without parameters, or an answer without a body.
type empty struct{}

func (s *Server) systemRoutes() {
	add(s, route(http.MethodGet, "/health", "health", "Whether the server answers", accessAnybody),
		func(context.Context, *empty) (*reply[api.Health], error) {
			return &reply[api.Health]{api.Health{Status: "ok"}}, nil
		})
	add(s, route(http.MethodGet, "/version", "version", "Which build this is", accessRead),
		func(context.Context, *empty) (*reply[api.Version], error) {
			return &reply[api.Version]{api.Version{Version: s.options.Version, Go: runtime.Version()}}, nil
		})
	add(s, eventRoute("/events", "events", "Everything that happens"),
		func(_ context.Context, in *EventsHeader) (*stream, error) {
			return s.eventStream(in.LastEventID, ""), nil
		})
}

func (s *Server) backendRoutes() {
	add(s, route(http.MethodGet, "/backends", "list-backends", "What can host a session here, in the order that auto tries them", accessRead),
		func(ctx context.Context, _ *empty) (*reply[api.Backends], error) {
			return &reply[api.Backends]{api.Backends{Backends: s.ListBackends(ctx)}}, nil
		})
}

type pruneIn struct {
	KeyHeader
	DryRun    bool   `query:"dry_run" doc:"Only say what would be done"`
	Snapshots string `query:"snapshots" doc:"Also let go, for good, of what is kept of workspaces that were deleted longer ago than this, such as 720h"`
}

type importIn struct {
	KeyHeader
	DryRun bool `query:"dry_run" doc:"Only say what would be imported"`
	Body   api.Import
}

type repairIn struct {
	KeyHeader
	DryRun bool `query:"dry_run" doc:"Only say what would be done"`
	Body   api.Repair
}

// maxAge bounds an age in a request.
const maxAge = 100 * 365 * 24 * time.Hour

func (s *Server) leftoverRoutes() {
	prune := route(http.MethodPost, "/prune", "prune", "Find what is left over, and remove what may go", accessFull)
	prune.Description = "Removes on proof alone: what holds work, what runs and what cannot be looked at stays, and says why."
	add(s, prune, s.postPrune)
	imports := route(http.MethodPost, "/import", "import", "Make workspaces of worktrees that exist already", accessFull)
	imports.Description = "A worktree that is the user's becomes an in-place workspace: deleting it only forgets it. One of ours whose row was lost comes back as it was."
	add(s, imports, s.postImport)
	repair := route(http.MethodPost, "/repair", "repair", "Find again what was moved", accessFull)
	repair.Description = "A repository counts as that of a workspace on proof: it has its locked worktree and its branch."
	add(s, repair, s.postRepair)
}

func (s *Server) postPrune(ctx context.Context, in *pruneIn) (*reply[api.Leftovers], error) {
	age, err := parseDuration("snapshots", in.Snapshots, 0, maxAge)
	if err != nil {
		return nil, err
	}
	return answer(s.Prune(ctx, age, in.DryRun))
}

func (s *Server) postImport(ctx context.Context, in *importIn) (*reply[api.Imported], error) {
	return answer(s.Import(ctx, in.Body, in.DryRun))
}

func (s *Server) postRepair(ctx context.Context, in *repairIn) (*reply[api.Repaired], error) {
	return answer(s.Repair(ctx, in.Body, in.DryRun))
}
