package server

import (
	"context"

	"middleman/workspace"
)

// provision gives a workspace whose directory is there what it lacks of its
// ports and of the files that git ignores. It is called by a creation, and
// again by a retry: what is done already is not done twice. On an error the
// workspace keeps what it has got.
func (s *Server) provision(ctx context.Context, w workspace.Workspace) (workspace.Workspace, error) {
	if needsPorts(w, s.Ports.Count) {
		var err error
		if w, err = s.givePorts(ctx, w, s.Ports.Count); err != nil {
			return w, err
		}
	}
	return w, s.Workspaces.Copy(ctx, w, nil, func(stage workspace.Stage) { s.stage(ctx, w.ID, stage) })
}
