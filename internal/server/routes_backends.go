package server

import (
	"context"
	"net/http"

	"middleman/internal/api"
)

func (s *Server) backendRoutes() {
	add(s, route(http.MethodGet, "/backends", "list-backends", "What can host a session here, in the order that auto tries them", accessRead),
		func(ctx context.Context, _ *empty) (*reply[api.Backends], error) {
			return &reply[api.Backends]{api.Backends{Backends: s.backendViews(ctx)}}, nil
		})
}

// backendViews says of each backend whether a session could be started now.
func (s *Server) backendViews(ctx context.Context) []api.Backend {
	chosen, _, _ := s.chooseBackend(ctx, "") // where none is usable, each says why
	views := []api.Backend{}
	for _, b := range s.Backends {
		v := api.Backend{Name: b.Name(), Usable: true, Default: chosen == b}
		if err := b.Usable(ctx); err != nil {
			v.Usable, v.Reason = false, s.redact(oneLine(err))
		}
		views = append(views, v)
	}
	return views
}
