package server

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"time"

	"middleman/internal/api"
	"middleman/internal/store"
	"middleman/terminal"
	"middleman/workspace"
)

// answerWithin is how long a creation is waited for before it is answered
// with 202: long enough that bad input is refused at once.
const answerWithin = 5 * time.Second

// createWorkspace begins a creation and returns its row once the directory is
// there, or after a while. Where it failed before that, the row is gone again
// and the error says why.
func (s *Server) createWorkspace(ctx context.Context, in api.NewWorkspace) (workspace.Workspace, error) {
	request, err := newRequest(in)
	if err != nil {
		return workspace.Workspace{}, err
	}
	var first *plan
	if in.Session != nil {
		p, err := s.plan(ctx, *in.Session)
		if err != nil {
			return workspace.Workspace{}, err
		}
		first = &p
	}
	row, err := s.addWorkspace(ctx, request)
	if err != nil {
		return workspace.Workspace{}, err
	}
	request.Name = row.Name
	return s.begin(ctx, row, request, first)
}

// begin goes on with a creation whose row is stored.
func (s *Server) begin(ctx context.Context, row workspace.Workspace, request workspace.CreateRequest, first *plan) (workspace.Workspace, error) {
	s.publishWorkspace(row)
	made, left := make(chan error), make(chan struct{})
	defer close(left)
	if !s.work.start(ctx, func(ctx context.Context) { s.create(ctx, row, request, first, made, left) }) {
		return workspace.Workspace{}, errors.Join(errStopping, s.Store.DeleteWorkspace(ctx, row.ID))
	}
	var err error
	select {
	case err = <-made:
	case <-time.After(answerWithin):
	case <-ctx.Done():
	}
	if err != nil {
		s.uncreate(ctx, row)
		return workspace.Workspace{}, err
	}
	return s.Store.Workspace(ctx, row.ID)
}

// newRequest checks what needs no look at anything.
func newRequest(in api.NewWorkspace) (workspace.CreateRequest, error) {
	r := workspace.CreateRequest{
		ID:        terminal.NewID("w"),
		Mode:      in.Mode,
		Directory: in.Directory,
		Base:      in.Base,
		Branch:    in.Branch,
		Ephemeral: in.Ephemeral,
	}
	if r.Mode == "" {
		r.Mode = workspace.ModeWorktree
	}
	if in.Name == "" {
		return r, nil
	}
	var err error
	r.Name, err = workspace.Slug(in.Name)
	return r, err
}

// addWorkspace stores the row of a creation, under the name that was asked
// for or one of ours.
func (s *Server) addWorkspace(ctx context.Context, r workspace.CreateRequest) (workspace.Workspace, error) {
	row := workspace.Workspace{
		ID:        r.ID,
		Name:      r.Name,
		Mode:      r.Mode,
		Base:      r.Base,
		Branch:    r.Branch,
		Ephemeral: r.Ephemeral,
		State:     workspace.StateCreating,
		CreatedAt: time.Now().UTC(),
	}
	if r.Mode == workspace.ModeWorktree {
		row.Repository = r.Directory // where to undo it, should we be killed; Create knows its top
	}
	if r.Parent != nil {
		row.Parent, row.ParentSession = r.Parent.ID, r.ParentSession
		if r.Parent.Repository != "" {
			row.Repository = r.Parent.Repository
		}
	}
	if r.Name != "" {
		err := s.Store.CreateWorkspace(ctx, row)
		if errors.Is(err, store.ErrNameTaken) {
			err = problemf(http.StatusConflict, api.CodeNameTaken, "there is a workspace %s already", r.Name)
		}
		return row, err
	}
	for range maxSameName {
		row.Name = randomName()
		if err := s.Store.CreateWorkspace(ctx, row); !errors.Is(err, store.ErrNameTaken) {
			return row, err
		}
	}
	return row, fmt.Errorf("find a name for a workspace: %w", store.ErrNameTaken)
}

// create makes the directory and the first session. made is told when the
// directory is there, or why nothing was made, unless the one who asked has
// left; then the row says it.
func (s *Server) create(ctx context.Context, row workspace.Workspace, r workspace.CreateRequest, first *plan,
	made chan<- error, left <-chan struct{}) {
	w, err := s.Workspaces.Create(ctx, r, func(stage workspace.Stage) { s.stage(ctx, row.ID, stage) })
	if err == nil {
		w.State, w.CreatedAt = workspace.StateCreating, row.CreatedAt
		err = s.Store.UpdateWorkspace(context.WithoutCancel(ctx), w)
	}
	if err != nil {
		s.Log.Info("workspace was not made", "workspace", row.Name, "error", err)
	}
	select {
	case made <- err:
	case <-left:
		if err != nil {
			row.State, row.Error = workspace.StateFailed, s.problem(err).Detail
			s.setWorkspaceState(ctx, row)
		}
	}
	if err != nil {
		return
	}
	if w, err = s.provision(ctx, w); err != nil {
		w.State, w.Error = workspace.StateFailed, s.problem(err).Detail
		s.setWorkspaceState(ctx, w)
		return
	}
	if first != nil {
		s.firstSession(ctx, w, *first)
	}
	w.State = workspace.StateReady
	s.setWorkspaceState(ctx, w)
}

// uncreate drops the row of a creation that has left nothing behind.
func (s *Server) uncreate(ctx context.Context, row workspace.Workspace) {
	if err := s.Store.DeleteWorkspace(context.WithoutCancel(ctx), row.ID); err != nil {
		s.Log.Error("drop the row of a workspace that was not made", "workspace", row.ID, "error", err)
	}
	s.events.publish(row.ID, api.Event{Type: "workspace-deleted", ID: row.ID})
}

// firstSession starts the session that was asked for with the workspace. One
// that cannot be started stays listed as failed, with the reason.
func (s *Server) firstSession(ctx context.Context, w workspace.Workspace, p plan) {
	s.stage(ctx, w.ID, workspace.Stage{Name: "session", State: "running", Time: time.Now().UTC()})
	end := workspace.Stage{Name: "session", State: "done"}
	if _, err := s.launch(ctx, w, p); err != nil {
		end.State, end.Detail = "failed", s.problem(err).Detail
	}
	end.Time = time.Now().UTC()
	s.stage(ctx, w.ID, end)
}

// stage records a stage and tells everybody.
func (s *Server) stage(ctx context.Context, workspaceID string, stage workspace.Stage) {
	stage.Detail = s.redact(stage.Detail)
	if err := s.Store.AddStage(context.WithoutCancel(ctx), workspaceID, stage); err != nil {
		s.Log.Error("record a stage", "workspace", workspaceID, "stage", stage.Name, "error", err)
	}
	view := stageView(stage)
	s.events.publish(workspaceID, api.Event{Type: "stage", ID: workspaceID, Stage: &view})
}

// setWorkspaceState records w's state and error and tells everybody.
func (s *Server) setWorkspaceState(ctx context.Context, w workspace.Workspace) {
	if err := s.Store.SetWorkspaceState(context.WithoutCancel(ctx), w.ID, w.State, w.Error); err != nil {
		s.Log.Error("record a workspace's state", "workspace", w.ID, "state", w.State, "error", err)
	}
	s.publishWorkspace(w)
}

// randomName is a name for somebody who does not care.
func randomName() string {
	pick := func(list []string) string { return list[rand.IntN(len(list))] }
	return pick(adjectives) + "-" + pick(nouns)
}

var (
	adjectives = []string{
		"amber", "bold", "brave", "brisk", "bright", "calm", "clear", "clever", "cosy", "crisp", "eager", "early",
		"fair", "fleet", "fresh", "gentle", "golden", "grand", "happy", "keen", "kind", "late", "light", "lively",
		"lucky", "mellow", "merry", "neat", "nimble", "noble", "proud", "quick", "quiet", "rapid", "ready", "silver",
		"sleek", "smart", "snug", "solid", "sunny", "swift", "tidy", "vivid", "warm", "wild", "wise", "witty",
	}
	nouns = []string{
		"alder", "aspen", "badger", "beech", "birch", "brook", "cedar", "cliff", "cloud", "comet", "coral", "crane",
		"creek", "dune", "eagle", "ember", "fern", "field", "finch", "fjord", "forest", "fox", "glade", "harbor",
		"hare", "hazel", "heron", "hill", "island", "lake", "larch", "lark", "maple", "meadow", "moss", "oak",
		"otter", "owl", "pine", "reef", "ridge", "river", "robin", "rowan", "spruce", "stone", "swan", "willow",
	}
)
