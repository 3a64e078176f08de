package app

import (
	"context"
	"errors"
	"os"
	"time"

	"middleman/internal/api"
	"middleman/internal/approve"
	"middleman/internal/approve/queue"
	"middleman/internal/git"
	"middleman/internal/store"
	"middleman/terminal"
	"middleman/workspace"
)

// Operations that change something. What finish runs goes on to its end even if
// the caller's context ends, and is refused with ErrStopping once Stop was called.

// finish runs f to its end, even if ctx is cancelled meanwhile.
func finish[T any](ctx context.Context, s *App, f func(context.Context) (T, error)) (out T, err error) {
	err = s.work.run(ctx, func(ctx context.Context) (err error) {
		out, err = f(ctx)
		return err
	})
	return out, err
}

// CreateWorkspace makes a workspace and, if in asks for one, its first session.
// It returns when the workspace has its directory, or after five seconds, so bad
// input is an error at once. The rest goes on in the background, also when ctx
// ends; the workspace's stages tell its progress. ErrStopping after Stop.
func (s *App) CreateWorkspace(ctx context.Context, in api.NewWorkspace) (api.Workspace, error) {
	w, err := s.createWorkspace(ctx, in)
	if err != nil {
		return api.Workspace{}, err
	}
	return s.wholeWorkspace(ctx, w)
}

// RetryWorkspace tries a failed creation again, from the step that failed. It
// returns at once; the creation goes on in the background.
func (s *App) RetryWorkspace(ctx context.Context, id string, in api.Retry) (api.Workspace, error) {
	w, err := finish(ctx, s, func(ctx context.Context) (workspace.Workspace, error) { return s.retryWorkspace(ctx, id, in) })
	if err != nil {
		return api.Workspace{}, err
	}
	return s.wholeWorkspace(ctx, w)
}

// RestoreWorkspace brings a deleted workspace back, and returns when that is
// done. Its warnings name what differs from before.
func (s *App) RestoreWorkspace(ctx context.Context, id string) (api.Restored, error) {
	return finish(ctx, s, func(ctx context.Context) (api.Restored, error) { return s.restoreWorkspace(ctx, id) })
}

// DeleteWorkspace deletes a workspace, or returns a *Refusal that lists
// everything that c does not cover. A dry run only tells what it would do. Then it
// applies the budget of transcripts.
func (s *App) DeleteWorkspace(ctx context.Context, id string, c Consent, dryRun bool) (api.Deleted, error) {
	return finish(ctx, s, func(ctx context.Context) (api.Deleted, error) {
		out, err := s.dispose(ctx, id, c, dryRun)
		if err != nil || dryRun {
			return out, err
		}
		s.trimTranscripts(ctx)
		s.recount(ctx, &out)
		return out, nil
	})
}

// StartSession starts a session in a workspace that is ready. A program that
// could not be started leaves no session behind.
func (s *App) StartSession(ctx context.Context, workspaceID string, in api.NewSession) (api.Session, error) {
	return finish(ctx, s, func(ctx context.Context) (api.Session, error) { return s.startSession(ctx, workspaceID, in) })
}

// EndSession stops a session that runs or has left something, and removes one that has
// ended, unless keep. grace is the time between the request to end and the kill: 0 means the
// session's own grace, a negative value means no grace. It returns when no process
// is left.
func (s *App) EndSession(ctx context.Context, id string, grace time.Duration, keep bool) (api.Session, error) {
	return finish(ctx, s, func(ctx context.Context) (api.Session, error) { return s.endSession(ctx, id, grace, keep) })
}

// Spawn starts a worker of a session. If that fails, only a record of the
// attempt is left.
func (s *App) Spawn(ctx context.Context, parentID string, in api.NewWorker) (api.Spawned, error) {
	return finish(ctx, s, func(ctx context.Context) (api.Spawned, error) { return s.spawn(ctx, parentID, in) })
}

// Prune removes leftovers, and what else q names. A dry run only lists them.
func (s *App) Prune(ctx context.Context, q api.PruneQuery) (api.Leftovers, error) {
	return finish(ctx, s, func(ctx context.Context) (api.Leftovers, error) {
		out, err := s.prune(ctx, q)
		if !q.DryRun {
			s.trimTranscripts(ctx)
		}
		return out, err
	})
}

// ForgetTranscripts removes the transcripts of the deleted workspaces with these
// ids, or of all deleted workspaces if there are none. A dry run only tells what it
// would remove.
func (s *App) ForgetTranscripts(ctx context.Context, workspaces []string, dryRun bool) (api.ForgottenTranscripts, error) {
	return finish(ctx, s, func(ctx context.Context) (api.ForgottenTranscripts, error) {
		return s.forgetTranscripts(ctx, workspaces, dryRun)
	})
}

// Import makes workspaces of worktrees that git knows and the store does not.
func (s *App) Import(ctx context.Context, in api.Import, dryRun bool) (api.Imported, error) {
	return finish(ctx, s, func(ctx context.Context) (api.Imported, error) { return s.importWorktrees(ctx, in, dryRun) })
}

// Repair finds workspaces whose repository or directory was moved, and records
// where they are now.
func (s *App) Repair(ctx context.Context, in api.Repair, dryRun bool) (api.Repaired, error) {
	return finish(ctx, s, func(ctx context.Context) (api.Repaired, error) { return s.repair(ctx, in, dryRun) })
}

// Approve records that the user trusts the configuration in a workspace's
// checkout, and runs its setup if in.Setup is set. in.Hash must be the hash of
// that configuration. A setup goes on to its end even if ctx is cancelled.
func (s *App) Approve(ctx context.Context, workspaceID string, in api.Approve) (api.Approved, error) {
	return finish(ctx, s, func(ctx context.Context) (api.Approved, error) {
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
		w, err = s.setUpAgain(ctx, workspaceID)
		if err != nil {
			return out, err
		}
		v, err := s.wholeWorkspace(ctx, w)
		out.Workspace = &v
		return out, err
	})
}

// ApproveIn records that the user trusts the configuration in the checkout that
// contains in.Directory. in.Hash must be the hash of that configuration.
func (s *App) ApproveIn(ctx context.Context, in api.ApproveIn) (api.Approved, error) {
	return finish(ctx, s, func(ctx context.Context) (api.Approved, error) {
		top, c, err := s.configIn(ctx, in.Directory)
		if err != nil {
			return api.Approved{}, err
		}
		err = s.trust(ctx, c, in.Hash)
		c.trusted = err == nil
		return api.Approved{Config: configView(top, c)}, err
	})
}

// Revoke withdraws the user's trust in all configurations of the repository that
// contains dir, and returns their number. A dry run only counts them.
func (s *App) Revoke(ctx context.Context, dir string, dryRun bool) (api.Revoked, error) {
	return finish(ctx, s, func(ctx context.Context) (out api.Revoked, err error) {
		_, gitDir, err := workspace.Checkout(ctx, home(dir))
		if err != nil {
			return out, err
		}
		if !dryRun {
			out.Revoked, err = s.Store.Distrust(ctx, gitDir)
			return out, err
		}
		list, err := s.Store.TrustedConfigs(ctx)
		for _, c := range list {
			if c.GitDir == gitDir {
				out.Revoked++
			}
		}
		return out, err
	})
}

// RenameWorkspace gives a workspace another name. Its path and branch stay, and
// its sessions go on.
func (s *App) RenameWorkspace(ctx context.Context, id, name string) (api.Workspace, error) {
	w, err := finish(ctx, s, func(ctx context.Context) (workspace.Workspace, error) { return s.renameWorkspace(ctx, id, name) })
	if err != nil {
		return api.Workspace{}, err
	}
	return s.workspaceView(ctx, w), nil
}

func (s *App) renameWorkspace(ctx context.Context, id, typed string) (workspace.Workspace, error) {
	name, _, err := workspace.Named(typed) // as for a new one
	if err != nil {
		return workspace.Workspace{}, err
	}
	if w, err := s.renamable(ctx, id); err != nil { // not only after a wait for what goes on there
		return w, err
	}
	leave := s.gates.block(id)
	defer leave()
	w, err := s.renamable(ctx, id)
	if err != nil {
		return w, err
	}
	_, _ = s.bring(ctx, w) // it is logged, and shown with the workspace
	w.Name = name
	if err := s.Store.UpdateWorkspace(ctx, w); errors.Is(err, store.ErrNameTaken) {
		return w, Refusef(api.CodeNameTaken, "there is a workspace %s already in that repository: choose another name", name)
	} else if err != nil {
		return w, err
	}
	s.publishWorkspace(ctx, w)
	s.publishSessions(ctx, id)
	return w, nil
}

// renamable returns a workspace that nothing goes on with.
func (s *App) renamable(ctx context.Context, id string) (workspace.Workspace, error) {
	w, err := s.Store.Workspace(ctx, id)
	if err == nil && w.State != workspace.StateReady && w.State != workspace.StateFailed {
		err = Refusef(api.CodeBusy, "workspace %s is %s at the moment", s.label(ctx, w), w.State)
	}
	return w, err
}

// RenameSession gives a session another name, which no other of its workspace
// may have.
func (s *App) RenameSession(ctx context.Context, id, name string) (api.Session, error) {
	if err := checkSessionName(name); err != nil {
		return api.Session{}, err
	}
	row, err := s.Store.Session(ctx, id)
	if err == nil {
		err = s.Store.RenameSession(ctx, id, name)
	}
	if errors.Is(err, store.ErrNameTaken) {
		return api.Session{}, s.takenName(ctx, row.WorkspaceID, name)
	}
	if err != nil {
		return api.Session{}, err
	}
	s.publishSession(ctx, id)
	row.Name = name
	return s.sessionView(ctx, row, s.workspaceName(ctx, row.WorkspaceID)), nil
}

// takenName refuses a name that another session of the workspace has.
func (s *App) takenName(ctx context.Context, workspaceID, name string) error {
	return Refusef(api.CodeNameTaken, "workspace %s has a session %s already: choose another name", s.workspaceName(ctx, workspaceID), name)
}

// checkSessionName refuses a name that a TARGET could not name.
func checkSessionName(name string) error {
	if sessionName().MatchString(name) && terminal.CheckID(name) != nil {
		return nil
	}
	return Refusef(api.CodeBadName,
		"session name %q: it must be at most 64 letters, digits, dots, dashes and underscores, and not look like an id", name)
}

// RequestApproval decides on the use of a tool that the agent of a session asks
// for, by rule or by waiting for AnswerApproval; see queue.Queue.Ask.
func (s *App) RequestApproval(ctx context.Context, sessionID string, in api.NewApproval) (api.Approval, error) {
	row, err := s.Store.Session(ctx, sessionID)
	if err != nil {
		return api.Approval{}, err
	}
	r := approve.Request{Tool: in.Tool, Arguments: in.Arguments, Directory: in.Directory, Plans: in.Plans, Aside: in.Aside}
	err = errors.Join(terminal.CheckID(in.ID), approve.CanGrant(in.Agent), r.Check())
	switch {
	case err != nil:
		return api.Approval{}, Refusef(api.CodeBadRequest, "approval: %s", oneLine(err))
	case row.State.Ended():
		return api.Approval{}, Refusef(api.CodeEnded, "session %s has ended", row.Name)
	}
	place, label, err := s.placeOf(ctx, row)
	if err != nil {
		return api.Approval{}, err
	}
	place.Path = in.Path
	a, err := s.approvals.Ask(ctx, queue.New(in.ID, row, label, in.Agent, r), r.Aside, func() approve.Verdict { return place.Decide(r) })
	if err != nil && ctx.Err() != nil { // the hook has ended, or the server ends: both are ordinary
		err = Refusef(api.CodeStopping, "the request ended before a decision")
	}
	return s.approvalView(a), err
}

// AnswerApproval decides on an approval that waits. by says who decides.
func (s *App) AnswerApproval(ctx context.Context, id string, in api.ApprovalAnswer, by string) (api.Approval, error) {
	return finish(ctx, s, func(ctx context.Context) (api.Approval, error) {
		a, err := s.approvals.Answer(ctx, id, in.Decision, in.Reason, by)
		return s.approvalView(a), err
	})
}

// placeOf returns where a session's agent may work without asking, and the
// session's label.
func (s *App) placeOf(ctx context.Context, row store.Session) (p approve.Place, label string, err error) {
	w, err := s.Store.Workspace(ctx, row.WorkspaceID)
	if err != nil {
		return p, "", err
	}
	all, _, err := s.Store.Workspaces(ctx, store.Page{Limit: -1})
	if err != nil {
		return p, "", err
	}
	p = approve.Place{
		Root: w.Root, Temp: []string{os.TempDir(), "/tmp"}, Others: []string{s.Dirs.Workspaces()},
		Private: []string{s.Dirs.Data, s.Dirs.Config, s.Dirs.Runtime, s.Dirs.Sockets()},
	}
	for _, other := range all {
		p.Others = append(p.Others, other.Root, other.Repository)
	}
	if w.GitDir != "" {
		p.Git = func() error { return s.gitViews.Harmless(ctx, w.GitDir, w.Root) }
		p.Linked = func() ([]string, error) { return git.Linked(ctx, w.GitDir, w.Root) }
	}
	p.Home, err = os.UserHomeDir()
	return p, s.label(ctx, w) + "/" + row.Name, err
}
