package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"middleman/internal/api"
	"middleman/internal/scratch"
	"middleman/internal/store"
	"middleman/workspace"
)

// undoTimeout is how long the start waits for one creation to be undone.
const undoTimeout = 30 * time.Second

// recall reads the state of the previous server and settles each half-made
// workspace, before the server accepts requests. It returns all session rows.
func (s *App) recall(ctx context.Context) ([]store.Session, error) {
	if err := s.Store.Expire(ctx, time.Now()); err != nil {
		return nil, err
	}
	s.recallWorkers(ctx)
	s.former = former{
		hooks: s.entries(s.Dirs.Hooks("")), boxes: s.entries(s.Dirs.Sandbox("")), private: s.entries(s.Dirs.Private("")),
	}
	if err := s.endSetups(ctx); err != nil {
		return nil, err
	}
	if err := s.resumeWorkspaces(ctx); err != nil {
		return nil, err
	}
	rows, _, err := s.Store.Sessions(ctx, "", store.Page{Limit: -1})
	return rows, err
}

// former names what earlier servers have kept for sessions and workspaces, each a
// directory with the name of an id. Sweeps look at these alone: a session that is
// being started has its files before it has a row.
type former struct{ hooks, boxes, private []string }

// entries returns the names in a directory, which need not exist.
func (s *App) entries(dir string) (names []string) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.Log.Warn("look for what earlier servers have kept", "error", err)
	}
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

// Resume finds the sessions and workspaces of earlier servers. A session whose
// row has no end gets a monitor. Sessions and workspaces without a row are
// looked for and get one, and terminals without state and row are ended. Resume
// blocks until that is done; it logs errors.
func (s *App) Resume(ctx context.Context, rows []store.Session) {
	s.watches.start(ctx, s.notices.Run)
	s.watches.start(ctx, func(ctx context.Context) {
		if err := s.approvals.Settle(ctx); err != nil {
			s.Log.Error("close what waited for an answer when the server ended", "error", err)
		}
	})
	s.watches.start(ctx, func(context.Context) {
		if err := scratch.Sweep(); err != nil {
			s.Log.Warn("remove temporary files of servers that were killed", "error", err)
		}
	})
	for _, row := range rows {
		if !row.State.Ended() {
			s.keep(ctx, row)
		}
	}
	step := func(what string, do func(context.Context)) { s.contain(what, func() { do(ctx) }, nil) }
	step("complete records of workers", s.buryEnded)
	step("look for workspaces without a row", s.refind)
	step("look for sessions without a row", s.adopt)
	close(s.unrecorded.looked)
	s.relabel(ctx)
	step("end terminals without a session", s.reap)
	step("look for ephemeral workspaces", s.sweep)
	step("look for hooks of ended sessions", s.sweepHooks)
	step("import commits of sandboxes", s.bringAll)
	step("look for sandboxes of removed sessions", s.sweepBoxes)
	step("remove transcripts beyond the budget", s.trimTranscripts)
}

// reaper is a backend whose terminals may outlive their state directories. Reap
// ends those that are proved to be its own and that known reports as unknown. It
// returns their ids.
type reaper interface {
	Reap(ctx context.Context, known func(id string) (bool, error)) ([]string, error)
}

// reap ends terminals that have neither state nor row: no client could reach
// them.
func (s *App) reap(ctx context.Context) {
	known := func(id string) (bool, error) {
		_, err := s.Store.Session(ctx, id)
		if errors.Is(err, store.ErrNotFound) {
			return false, nil
		}
		return err == nil, err
	}
	for _, b := range s.Backends {
		r, ok := b.(reaper)
		if !ok || b.Usable(ctx) != nil {
			continue
		}
		ids, err := r.Reap(ctx, known)
		if len(ids) > 0 {
			s.Log.Info("ended terminals without state and row", "backend", b.Name(), "sessions", ids)
		}
		if err != nil && ctx.Err() == nil {
			s.Log.Warn("look for terminals without state", "backend", b.Name(), "error", err)
		}
	}
}

// resumeWorkspaces settles each half-made, half-restored or half-deleted
// workspace. A crash leaves these, because it gives an operation no time to
// clean up.
func (s *App) resumeWorkspaces(ctx context.Context) error {
	list, _, err := s.Store.Workspaces(ctx, store.Page{Limit: -1})
	if err != nil {
		return err
	}
	for _, w := range list {
		switch {
		case w.State == workspace.StateCreating && w.Parent != "":
			s.containWorkspace(ctx, w, func() { s.resumeSpawn(ctx, w) })
		case w.State == workspace.StateCreating:
			s.containWorkspace(ctx, w, func() { s.resumeCreation(ctx, w) })
		case w.State == workspace.StateRestoring:
			s.further(ctx, w, func(ctx context.Context) { s.resumeRestore(ctx, w) })
		case w.State == workspace.StateDeleting:
			s.further(ctx, w, func(ctx context.Context) {
				s.resumeDelete(ctx, w)
				s.trimTranscripts(ctx)
			})
		}
	}
	return nil
}

// resumeCreation goes on with a creation that the previous server did not
// finish, if the workspace has its directory. Otherwise it undoes the creation.
func (s *App) resumeCreation(ctx context.Context, w workspace.Workspace) {
	s.cutShort(ctx, w.ID)
	if last, is, err := s.Store.LastStage(ctx, w.ID, "setup"); err == nil && is && last.State == "failed" {
		w.State, w.Error = workspace.StateFailed, "the server ended while the setup ran, so it is not known whether the setup succeeded: `middleman retry "+s.label(ctx, w)+"` runs it again"
		s.setWorkspaceState(ctx, w)
		return
	}
	if placed(w) {
		s.further(ctx, w, func(ctx context.Context) { s.goOn(ctx, w) })
		return
	}
	undoing, cancel := context.WithTimeout(ctx, undoTimeout)
	defer cancel()
	w.State, w.Error = workspace.StateFailed, "the server ended while it made this workspace, and nothing of it is left; `middleman retry` makes it"
	if err := s.Workspaces.Undo(undoing, w, false); err != nil {
		s.Log.Warn("undo a creation", "workspace", w.ID, "error", err)
		w.Error = "the server ended while it made this workspace, and could not undo that: " + s.redact(err.Error())
	}
	s.setWorkspaceState(ctx, w)
}

// placed reports whether the row of a workspace says that its directory was
// made. A row may have only the planned place of a worktree before that.
func placed(w workspace.Workspace) bool {
	return w.GitDir != "" || w.Mode != workspace.ModeWorktree && w.Root != ""
}

// goOn finishes the creation of a workspace that has its directory.
func (s *App) goOn(ctx context.Context, w workspace.Workspace) {
	c, err := s.creation(ctx, w, api.Retry{})
	if err != nil {
		s.failCreation(ctx, w, err)
		return
	}
	s.finishCreation(ctx, c)
}

// creation reads the request of a workspace whose creation is not finished. An
// older server stored no request; a workspace of such a server was finished once
// it had its directory. again is for storedRequest.plan.
func (s *App) creation(ctx context.Context, w workspace.Workspace, again api.Retry) (creation, error) {
	asked, err := s.Store.Creation(ctx, w.ID)
	if errors.Is(err, store.ErrNotFound) && placed(w) {
		return creation{row: w}, nil
	}
	if err != nil {
		return creation{}, err
	}
	var in storedRequest
	if err := json.Unmarshal(asked, &in); err != nil {
		return creation{}, fmt.Errorf("read the request for workspace %s: %w", w.Name, err)
	}
	request, err := newRequest(in.NewWorkspace)
	if err != nil {
		return creation{}, err
	}
	request.ID, request.Name = w.ID, w.Name
	c := creation{row: w, request: request}
	if in.Session != nil {
		p, err := in.plan(ctx, s, again)
		if err != nil {
			return creation{}, err
		}
		c.first = &p
	}
	return c, nil
}
