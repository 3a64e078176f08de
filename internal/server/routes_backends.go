package server

import (
	"context"
	"net/http"

	"middleman/internal/api"
)

func (s *Server) backendRoutes() {
	add(s, route(http.MethodGet, "/backends", "list-backends", "What can host a session here, in the order that auto tries them", accessRead),
		func(ctx context.Context, _ *empty) (*reply[api.Backends], error) {
			return &reply[api.Backends]{api.Backends{Backends: s.ListBackends(ctx)}}, nil
		})
}
