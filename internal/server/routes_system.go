package server

import (
	"context"
	"net/http"
	"runtime"

	"middleman/internal/api"
)

// reply is an answer with a JSON body.
type reply[T any] struct{ Body T }

// answer is out as an answer.
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
