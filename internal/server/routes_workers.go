package server

import (
	"context"
	"net/http"

	"middleman/internal/api"
	"middleman/internal/store"
)

type spawnIn struct {
	SessionPath
	KeyHeader
	Body api.NewWorker
}

type sessionWorkersIn struct {
	SessionPath
	Wait string `query:"wait" doc:"How long to wait for all of them to have ended, such as 30s"`
}

type workersIn struct {
	Workspace string `query:"workspace" doc:"Only workers of sessions of that workspace, by its id"`
}

func (s *Server) workerRoutes() {
	spawn := route(http.MethodPost, "/sessions/{session}/workers", "spawn-worker", "Start a worker of a session", accessFull)
	spawn.DefaultStatus = http.StatusCreated
	spawn.Description = "A worker works in the parent's directory, or in a worktree on a branch of its own within the parent's scope. The answer comes when it runs; where it cannot be made, nothing of it is left but a record."
	add(s, spawn, s.postWorker)
	add(s, route(http.MethodGet, "/sessions/{session}/workers", "list-session-workers", "Workers of a session, ended ones too, oldest first", accessRead), s.getSessionWorkers)
	add(s, route(http.MethodGet, "/workers", "list-workers", "All workers, ended ones too, oldest first", accessRead), s.getWorkers)
}

func (s *Server) postWorker(ctx context.Context, in *spawnIn) (*reply[api.Spawned], error) {
	var out api.Spawned
	err := s.work.run(ctx, func(ctx context.Context) (err error) {
		out, err = s.spawn(ctx, in.Session, in.Body)
		return err
	})
	return &reply[api.Spawned]{out}, err
}

// getSessionWorkers also answers for a session that is gone, from what is
// recorded of its workers.
func (s *Server) getSessionWorkers(ctx context.Context, in *sessionWorkersIn) (*reply[api.Workers], error) {
	limit, err := parseDuration("wait", in.Wait, 0, maxPoll)
	if err != nil {
		return nil, err
	}
	list, err := s.waitWorkers(ctx, in.Session, limit)
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		if _, err := s.Store.Session(ctx, in.Session); err != nil {
			return nil, err
		}
	}
	views, err := s.workerViews(ctx, list)
	return &reply[api.Workers]{api.Workers{Workers: views}}, err
}

func (s *Server) getWorkers(ctx context.Context, in *workersIn) (*reply[api.Workers], error) {
	list := s.workers.list(func(t store.Tombstone) bool { return in.Workspace == "" || t.ParentWorkspace == in.Workspace })
	views, err := s.workerViews(ctx, list)
	return &reply[api.Workers]{api.Workers{Workers: views}}, err
}
