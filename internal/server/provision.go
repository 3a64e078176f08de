package server

import (
	"context"

	"middleman/workspace"
)

// provision gives a workspace whose directory is there what it lacks of its
// ports. It is called by a creation, and again by a retry: what is done
// already is not done twice. On an error the workspace keeps what it has got.
func (s *Server) provision(ctx context.Context, w workspace.Workspace) (workspace.Workspace, error) {
	if needsPorts(w, s.Ports.Count) {
		return s.givePorts(ctx, w, s.Ports.Count)
	}
	return w, nil
}
