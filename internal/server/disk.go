package server

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"syscall"

	"middleman/internal/api"
	"middleman/internal/git"
	"middleman/internal/store"
	"middleman/terminal/ws"
)

// internalDetail is what anybody learns of an error that is not known.
const internalDetail = "internal error; the server's log says more"

// problemFor is problem for an answer: over the Unix socket, where this user
// asks, an internal error says which file the log is.
func (s *Server) problemFor(ctx context.Context, err error) *Problem {
	if errors.Is(context.Cause(ctx), ws.ErrUnauthorized) {
		return newProblem(http.StatusUnauthorized, api.CodeUnauthorized, ws.ErrUnauthorized.Error())
	}
	p := s.problem(err)
	if socket, _ := ctx.Value(socketKey{}).(bool); socket && p.Detail == internalDetail && s.LogFile != "" {
		return newProblem(p.Status, api.CodeInternal, "internal error; "+s.LogFile+" says more")
	}
	return p
}

// diskFull tells an error that freeing room on a disk ends. What git met
// comes only as text.
func diskFull(err error) bool {
	if errors.Is(err, syscall.ENOSPC) || store.IsFull(err) {
		return true
	}
	git, ok := errors.AsType[*git.Error](err)
	return ok && strings.Contains(git.Stderr, "No space left on device")
}
