package app

import (
	"context"
	"time"

	"middleman/internal/api"
	"middleman/workspace"
)

// What changes something. Each of these is brought to its end though its caller
// leaves, and returns ErrStopping once Stop was called.

// finish runs f to its end, whoever leaves.
func finish[T any](ctx context.Context, s *App, f func(context.Context) (T, error)) (out T, err error) {
	err = s.work.run(ctx, func(ctx context.Context) (err error) {
		out, err = f(ctx)
		return err
	})
	return out, err
}

// CreateWorkspace makes a workspace, and its first session where one is asked
// for. It returns once bad input would have been refused, or after five seconds;
// the workspace's stages say how the rest goes.
func (s *App) CreateWorkspace(ctx context.Context, in api.NewWorkspace) (api.Workspace, error) {
	w, err := s.createWorkspace(ctx, in)
	if err != nil {
		return api.Workspace{}, err
	}
	return s.wholeWorkspace(ctx, w)
}

// RetryWorkspace tries a creation that failed again, from where it failed. It
// returns while that goes on.
func (s *App) RetryWorkspace(ctx context.Context, id string) (api.Workspace, error) {
	w, err := finish(ctx, s, func(ctx context.Context) (workspace.Workspace, error) { return s.retryWorkspace(ctx, id) })
	if err != nil {
		return api.Workspace{}, err
	}
	return s.wholeWorkspace(ctx, w)
}

// RestoreWorkspace brings a deleted workspace back.
func (s *App) RestoreWorkspace(ctx context.Context, id string) (api.Restored, error) {
	return finish(ctx, s, func(ctx context.Context) (api.Restored, error) { return s.restoreWorkspace(ctx, id) })
}

// DeleteWorkspace deletes a workspace, or refuses with everything that c does not
// cover. A dry run only says what would be done.
func (s *App) DeleteWorkspace(ctx context.Context, id string, c Consent, dryRun bool) (api.Deleted, error) {
	return finish(ctx, s, func(ctx context.Context) (api.Deleted, error) { return s.dispose(ctx, id, c, dryRun) })
}

// StartSession starts a session in a workspace that is ready. Where that fails
// nothing is left of it.
func (s *App) StartSession(ctx context.Context, workspaceID string, in api.NewSession) (api.Session, error) {
	return finish(ctx, s, func(ctx context.Context) (api.Session, error) { return s.startSession(ctx, workspaceID, in) })
}

// EndSession stops a session that lives, and removes one that has ended. A grace
// of 0 is the session's own, a negative one is none.
func (s *App) EndSession(ctx context.Context, id string, grace time.Duration) (api.Session, error) {
	return finish(ctx, s, func(ctx context.Context) (api.Session, error) { return s.endSession(ctx, id, grace) })
}

// Spawn starts a worker of a session. Where that fails nothing is left of it but
// a record.
func (s *App) Spawn(ctx context.Context, parentID string, in api.NewWorker) (api.Spawned, error) {
	return finish(ctx, s, func(ctx context.Context) (api.Spawned, error) { return s.spawn(ctx, parentID, in) })
}

// Prune removes what is left over; of snapshots of deleted workspaces those that
// are older than age, or none where age is 0.
func (s *App) Prune(ctx context.Context, age time.Duration, dryRun bool) (api.Leftovers, error) {
	return finish(ctx, s, func(ctx context.Context) (api.Leftovers, error) { return s.prune(ctx, age, dryRun) })
}

// Import takes over worktrees that git knows and the store does not.
func (s *App) Import(ctx context.Context, in api.Import, dryRun bool) (api.Imported, error) {
	return finish(ctx, s, func(ctx context.Context) (api.Imported, error) { return s.importWorktrees(ctx, in, dryRun) })
}

// Repair finds workspaces again whose repository or directory was moved.
func (s *App) Repair(ctx context.Context, in api.Repair, dryRun bool) (api.Repaired, error) {
	return finish(ctx, s, func(ctx context.Context) (api.Repaired, error) { return s.repair(ctx, in, dryRun) })
}

// Approve agrees to the configuration in a workspace's checkout, if it is what
// the hash names, and runs its setup where that is asked for.
func (s *App) Approve(ctx context.Context, workspaceID string, in api.Approve) (api.Approved, error) {
	w, c, err := s.worktreeConfig(ctx, workspaceID)
	if err == nil {
		err = s.trust(ctx, c, in.Hash)
	}
	if err != nil {
		return api.Approved{}, err
	}
	c.trusted = true
	out := api.Approved{Config: configView(w.Root, c)}
	if !in.Setup {
		return out, nil
	}
	return finish(ctx, s, func(ctx context.Context) (api.Approved, error) {
		w, err := s.setUpAgain(ctx, workspaceID)
		if err != nil {
			return out, err
		}
		v, err := s.wholeWorkspace(ctx, w)
		out.Workspace = &v
		return out, err
	})
}

// ApproveIn agrees to the configuration in the checkout that a directory is in.
func (s *App) ApproveIn(ctx context.Context, in api.ApproveIn) (api.Approved, error) {
	top, c, err := s.configIn(ctx, in.Directory)
	if err != nil {
		return api.Approved{}, err
	}
	err = s.trust(ctx, c, in.Hash)
	c.trusted = err == nil
	return api.Approved{Config: configView(top, c)}, err
}

// Revoke takes back what the user agreed to in a directory's repository.
func (s *App) Revoke(ctx context.Context, dir string, dryRun bool) (api.Revoked, error) {
	_, gitDir, err := workspace.Checkout(ctx, dir)
	if err != nil {
		return api.Revoked{}, err
	}
	if !dryRun {
		n, err := s.Store.Distrust(ctx, gitDir)
		return api.Revoked{Revoked: n}, err
	}
	list, err := s.Store.TrustedConfigs(ctx)
	var out api.Revoked
	for _, c := range list {
		if c.GitDir == gitDir {
			out.Revoked++
		}
	}
	return out, err
}
