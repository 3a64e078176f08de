package server

import (
	"context"
	"net/http"
	"time"

	"middleman/internal/api"
)

type pruneIn struct {
	KeyHeader
	DryRun    bool   `query:"dry_run" doc:"Only say what would be done"`
	Snapshots string `query:"snapshots" doc:"Also let go, for good, of what is kept of workspaces that were deleted longer ago than this, such as 720h"`
}

// maxAge bounds what may be asked for as an age.
const maxAge = 100 * 365 * 24 * time.Hour

func (s *Server) leftoverRoutes() {
	prune := route(http.MethodPost, "/prune", "prune", "Find what is left over, and remove what may go", accessFull)
	prune.Description = "Removes on proof alone: what holds work, what runs and what cannot be looked at stays, and says why."
	add(s, prune, s.postPrune)
}

func (s *Server) postPrune(ctx context.Context, in *pruneIn) (*reply[api.Leftovers], error) {
	age, err := duration("snapshots", in.Snapshots, 0, maxAge)
	if err != nil {
		return nil, err
	}
	var out api.Leftovers
	err = s.work.run(ctx, func(ctx context.Context) (err error) {
		out, err = s.prune(ctx, age, in.DryRun)
		return err
	})
	return &reply[api.Leftovers]{out}, err
}
