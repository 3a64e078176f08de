package app

import (
	"context"
	"os"

	"middleman/internal/api"
	"middleman/internal/repoconfig"
	"middleman/workspace"
)

// setUpAgain gives a workspace that is ready what its configuration, to which
// the user has just agreed, says. Sessions may be started meanwhile; a delete
// is refused. Whatever becomes of it, the workspace stays ready.
func (s *App) setUpAgain(ctx context.Context, id string) (workspace.Workspace, error) {
	w, release, err := s.claim(ctx, id)
	if err != nil {
		return w, err
	}
	defer release()
	c, err := s.configOf(ctx, w)
	if err != nil {
		return w, err
	}
	if w, err = s.supply(ctx, w, c); err != nil {
		return w, err
	}
	w, err = s.setUp(ctx, w, c)
	s.publishWorkspace(w)
	return w, err
}

// claim keeps a workspace that is ready from being deleted until release is
// called. Nobody else has a claim on it.
func (s *App) claim(ctx context.Context, id string) (w workspace.Workspace, release func(), err error) {
	leave, ok := s.gates.launch(id)
	if !ok {
		return w, nil, Refusef(api.CodeBusy, "the workspace is being deleted")
	}
	defer leave()
	if w, err = s.Store.Workspace(ctx, id); err != nil {
		return w, nil, err
	}
	if w.State != workspace.StateReady {
		return w, nil, Refusef(api.CodeBusy, "workspace %s is %s: no setup can be run in it", w.Name, w.State)
	}
	if release, ok = s.settingUp.enter(id); !ok {
		return w, nil, Refusef(api.CodeBusy, "the setup of workspace %s runs already", w.Name)
	}
	return w, release, nil
}

// teardownOf are the commands to be run before w is deleted, none where it was
// made without the configuration: those of its checkout where the user agreed
// to them, else those that it was made with.
func (s *App) teardownOf(ctx context.Context, w workspace.Workspace) (repoconfig.Config, error) {
	if w.ConfigHash == "" || w.Mode != workspace.ModeWorktree {
		return repoconfig.Config{}, nil
	}
	if info, err := os.Lstat(w.Root); err != nil || !info.IsDir() {
		return repoconfig.Config{}, nil // there is nowhere to run them
	}
	if c, err := s.configOf(ctx, w); err == nil && c.usable() {
		return c.config, nil
	}
	c, _, err := s.agreed(ctx, w)
	return c, err
}

// tearDown runs them. One that fails is a reason not to delete w.
func (s *App) tearDown(ctx context.Context, w workspace.Workspace, c repoconfig.Config) error {
	if len(c.Teardown) == 0 {
		return nil
	}
	return s.runCommands(ctx, w, "teardown", c.Teardown, c)
}

// code is the problem's that a client is told.
func (e *setupError) code() string {
	if e.stage == "teardown" {
		return api.CodeTeardown
	}
	return api.CodeSetupFailed
}
