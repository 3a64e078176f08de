package server

import (
	"context"
	"net/http"

	"middleman/internal/api"
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
	return answer(s.Spawn(ctx, in.Session, in.Body))
}

func (s *Server) getSessionWorkers(ctx context.Context, in *sessionWorkersIn) (*reply[api.Workers], error) {
	limit, err := parseDuration("wait", in.Wait, 0, maxPoll)
	if err != nil {
		return nil, err
	}
	list, err := s.SessionWorkers(ctx, in.Session, limit)
	return answer(api.Workers{Workers: list}, err)
}

func (s *Server) getWorkers(ctx context.Context, in *workersIn) (*reply[api.Workers], error) {
	list, err := s.ListWorkers(ctx, in.Workspace)
	return answer(api.Workers{Workers: list}, err)
}
