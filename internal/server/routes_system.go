package server

import (
	"context"
	"net/http"
	"os"
	"runtime"
	"time"

	"middleman/internal/api"
	"middleman/internal/ownpath"
)

// reply is an answer with a JSON body.
type reply[T any] struct{ Body T }

// answer returns out as a reply, and err unchanged.
func answer[T any](out T, err error) (*reply[T], error) { return &reply[T]{out}, err }

// empty is a request without parameters, or an answer without a body.
type empty struct{}

type restartQuery struct {
	Program string `query:"program" doc:"Absolute path of the middleman that goes on as the server. Unset means its own"`
}

func (s *Server) systemRoutes() {
	add(s, route(http.MethodGet, "/health", "health", "Whether the server answers", accessAnybody),
		func(context.Context, *empty) (*reply[api.Health], error) {
			return &reply[api.Health]{api.Health{Status: "ok"}}, nil
		})
	add(s, route(http.MethodGet, "/version", "version", "Which build this is", accessRead),
		func(context.Context, *empty) (*reply[api.Version], error) {
			return &reply[api.Version]{api.Version{Version: s.options.Version, Go: runtime.Version(), API: api.Current, OldestAPI: api.Oldest, Features: api.Features}}, nil
		})
	add(s, route(http.MethodGet, "/server", "get-server", "The server's process, and which settings wait for a restart", accessFull),
		func(context.Context, *empty) (*reply[api.Server], error) {
			return &reply[api.Server]{s.describe()}, nil
		})
	stop := route(http.MethodPost, "/server/stop", "stop-server", "End the server; sessions go on", accessFull)
	stop.Description = "Over the Unix socket only."
	add(s, stop, func(ctx context.Context, _ *empty) (*reply[api.Server], error) { return s.end(ctx, false, "") })
	restart := route(http.MethodPost, "/server/restart", "restart-server", "Start the server again, in the same process; sessions go on", accessFull)
	restart.Description = "Over the Unix socket only."
	add(s, restart, func(ctx context.Context, in *restartQuery) (*reply[api.Server], error) {
		return s.end(ctx, true, in.Program)
	})
	add(s, eventRoute("/events", "events", "All events"),
		func(_ context.Context, in *eventsQuery) (*stream, error) {
			return s.eventStream(in.LastEventID, "", in.Runtimes), nil
		})
}

// describe returns what is known of this process.
func (s *Server) describe() api.Server {
	address, _ := s.tcpAddress()
	v := api.Server{PID: os.Getpid(), Version: s.options.Version, Since: s.since, Background: s.options.LogFile != "",
		URL: api.Serve{Address: address, TLS: s.options.TLS != nil}.URL(), Unknown: s.UnknownHooks(), Notify: s.NoticeCommand()}
	for _, c := range []*conns{s.conns, s.ownConns} {
		if text := c.reached(); text != "" {
			v.Full = append(v.Full, text)
		}
	}
	for _, l := range ownpath.LeftOut() {
		v.LeftOut = append(v.LeftOut, l.String())
	}
	if s.options.Waiting == nil {
		return v
	}
	var err error
	if v.Waiting, err = s.options.Waiting(); err != nil {
		v.Problem = err.Error()
	}
	return v
}

// end ends the server, and with restart starts it again, as a program if one is named.
// The answer says what ended.
func (s *Server) end(ctx context.Context, restart bool, program string) (*reply[api.Server], error) {
	if s.options.End == nil {
		return nil, problemf(api.CodeUnsupported, "this server cannot be ended by a request")
	}
	if id, ok := caller(ctx); !ok || id.subject != socketSubject {
		return nil, problemf(api.CodeForbidden, "the server is stopped and restarted over the Unix socket only")
	}
	v := s.describe()
	return answer(v, s.options.End(restart, program)) // the shutdown waits for this answer
}

func (s *Server) backendRoutes() {
	add(s, route(http.MethodGet, "/backends", "list-backends", "The backends of this server, in the order that auto tries them", accessRead),
		func(ctx context.Context, _ *empty) (*reply[api.Backends], error) {
			return &reply[api.Backends]{api.Backends{Backends: s.ListBackends(ctx)}}, nil
		})
}

type pruneIn struct {
	KeyHeader
	DryRun    bool   `query:"dry_run" doc:"Only report what would be done"`
	Snapshots string `query:"snapshots" doc:"Also remove, for good, the snapshots of workspaces that were deleted longer ago than this, such as 720h"`
	Workers   bool   `query:"workers" doc:"Also remove the records of ended workers whose parent is gone, whatever their age; by default only those of workers that ended more than 30 days ago"`
}

type transcriptsIn struct{ PageQuery }

type forgetIn struct {
	KeyHeader
	DryRun    bool     `query:"dry_run" doc:"Only say what would be done"`
	Workspace []string `query:"workspace,explode" maxItems:"1000" doc:"Ids of deleted workspaces; unset means all deleted workspaces"`
}

type importIn struct {
	KeyHeader
	DryRun bool `query:"dry_run" doc:"Only report what would be imported"`
	Body   api.Import
}

type repairIn struct {
	KeyHeader
	DryRun bool `query:"dry_run" doc:"Only report what would be done"`
	Body   api.Repair
}

// maxAge bounds an age in a request.
const maxAge = 100 * 365 * 24 * time.Hour

func (s *Server) leftoverRoutes() {
	prune := route(http.MethodPost, "/prune", "prune", "Find leftovers, and remove those that may be removed", accessFull)
	prune.Description = "A leftover is removed only on proof that nothing is lost. One that holds work, that runs or that cannot be inspected stays, with the reason."
	add(s, prune, s.postPrune)
	add(s, route(http.MethodGet, "/transcripts", "list-transcripts", "Sessions of deleted workspaces whose transcripts are kept, oldest first", accessRead),
		func(ctx context.Context, in *transcriptsIn) (*reply[api.Sessions], error) {
			return answer(s.ListTranscripts(ctx, in.page()))
		})
	forget := route(http.MethodDelete, "/transcripts", "forget-transcripts", "Remove the transcripts of sessions of deleted workspaces, for good", accessFull)
	forget.Description = "A transcript is the output, the last screen and the exit of a session. Those of existing workspaces are never removed. The server removes the oldest by itself if all of them exceed the setting transcripts.keep."
	add(s, forget, s.deleteTranscripts)
	imports := route(http.MethodPost, "/import", "import", "Make workspaces from existing worktrees", accessFull)
	imports.Description = "A worktree that the user made becomes an in-place workspace: deleting that only removes the record. A worktree that middleman made, and whose record was lost, becomes the workspace that it was."
	add(s, imports, s.postImport)
	repair := route(http.MethodPost, "/repair", "repair", "Find workspaces and repositories that were moved", accessFull)
	repair.Description = "A repository is taken for that of a workspace only on proof: it must have the locked worktree and the branch of the workspace."
	add(s, repair, s.postRepair)
}

func (s *Server) postPrune(ctx context.Context, in *pruneIn) (*reply[api.Leftovers], error) {
	age, err := parseDuration("snapshots", in.Snapshots, 0, maxAge)
	if err != nil {
		return nil, err
	}
	return answer(s.Prune(ctx, api.PruneQuery{Snapshots: age, Workers: in.Workers, DryRun: in.DryRun}))
}

func (s *Server) deleteTranscripts(ctx context.Context, in *forgetIn) (*reply[api.ForgottenTranscripts], error) {
	return answer(s.ForgetTranscripts(ctx, in.Workspace, in.DryRun))
}

func (s *Server) postImport(ctx context.Context, in *importIn) (*reply[api.Imported], error) {
	return answer(s.Import(ctx, in.Body, in.DryRun))
}

func (s *Server) postRepair(ctx context.Context, in *repairIn) (*reply[api.Repaired], error) {
	return answer(s.Repair(ctx, in.Body, in.DryRun))
}
