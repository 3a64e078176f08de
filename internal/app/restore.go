package app

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"middleman/internal/api"
	"middleman/internal/plaintext"
	"middleman/internal/store"
	"middleman/workspace"
)

// restoreWorkspace brings a deleted workspace back under its name, with a number
// if another workspace has that name by now.
func (s *App) restoreWorkspace(ctx context.Context, id string) (api.Restored, error) {
	leave := s.gates.block(id)
	defer leave()
	d, err := s.Store.DeletedWorkspace(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		if w, err := s.Store.Workspace(ctx, id); err == nil {
			return api.Restored{}, Refusef(api.CodeNotDeleted, "workspace %s is not deleted", s.label(ctx, w))
		}
	}
	if err != nil {
		return api.Restored{}, err
	}
	kept, _, err := s.Store.Transcripts(ctx, id, store.Page{Limit: -1})
	if err != nil {
		return api.Restored{}, err
	}
	row, err := s.revive(ctx, d)
	if err != nil {
		return api.Restored{}, err
	}
	notes, err := s.finishRestore(ctx, row, d.Name, d.DeletedAt)
	if err != nil {
		return api.Restored{}, withTranscripts(err, d, kept)
	}
	if row.Name != d.Name {
		notes = append([]string{fmt.Sprintf("another workspace has the name %s now: this one is called %s", d.Name, row.Name)}, notes...)
	}
	w, err := s.Store.Workspace(ctx, id)
	if err != nil {
		return api.Restored{}, err
	}
	for _, t := range kept {
		s.publishSession(ctx, t.ID)
	}
	return api.Restored{Workspace: s.workspaceView(ctx, w), Warnings: notes, Sessions: len(kept)}, nil
}

// withTranscripts adds to the error of a restore which transcripts are kept.
func withTranscripts(err error, d store.Deleted, kept []store.Transcript) error {
	if !errors.Is(err, workspace.ErrNoSnapshot) || len(kept) == 0 {
		return err
	}
	return fmt.Errorf("%w; transcripts of %s are kept: `middleman logs %s/%s` prints one, `middleman ls --all --sessions` lists them", err, plaintext.Count(len(kept), "session"), d.Name, kept[0].Name)
}

// revive turns the record of a deleted workspace into a row, so that a restart
// finds it. If two requests revive the same workspace, one of them fails.
func (s *App) revive(ctx context.Context, d store.Deleted) (workspace.Workspace, error) {
	if err := numbered(d.Name, func(name string) error { return s.Store.ReviveDeleted(ctx, d.ID, name) }); err != nil {
		return workspace.Workspace{}, err
	}
	row, err := s.Store.Workspace(ctx, d.ID)
	if err == nil {
		s.publishWorkspace(ctx, row)
	}
	return row, err
}

// finishRestore brings back the directory of a row in StateRestoring. If that
// fails, the workspace becomes a deleted one again, with name and deleted as its
// name and time. notes tell what differs from before.
func (s *App) finishRestore(ctx context.Context, row workspace.Workspace, name string, deleted time.Time) (notes []string, err error) {
	var back workspace.Workspace
	defer s.placing.end(row.ID)
	err = s.besideParent(row, func() error {
		at, moved, err := s.restoredApart(ctx, row)
		if err != nil {
			return err
		}
		return s.Guarded("restore workspace "+row.ID, func() error { // the content of a snapshot is not trusted
			back, notes, err = s.Workspaces.Restore(ctx, at, func(stage workspace.Stage) { s.stage(ctx, row.ID, stage) })
			notes = append(moved, notes...)
			return err
		})
	})
	after := context.WithoutCancel(ctx)
	if err != nil {
		s.Log.Info("workspace was not restored", "workspace", row.Name, "error", err)
		if err := s.deleteAgain(after, row, name, deleted); err != nil {
			s.Log.Error("keep a workspace as deleted", "workspace", row.ID, "error", err)
		}
		s.publishDeleted(ctx, row.ID)
		return nil, err
	}
	back.Ephemeral = false // the user wants to keep it
	if err := s.Store.UpdateWorkspace(after, back); err != nil {
		return nil, err
	}
	_, _ = s.bring(after, back) // it is logged, and shown with the workspace
	back, note := s.restorePorts(after, back)
	s.publishWorkspace(ctx, back)
	return append(notes, note...), nil
}

// deleteAgain makes a workspace that was not restored a deleted one again, with
// its transcripts.
func (s *App) deleteAgain(ctx context.Context, row workspace.Workspace, name string, deleted time.Time) error {
	sessions, _, err := s.Store.Sessions(ctx, row.ID, store.Page{Limit: -1})
	if err != nil {
		return err
	}
	row.Name = name
	return s.Store.KeepDeleted(ctx, store.Deleted{Workspace: row, DeletedAt: deleted}, s.transcripts.Measure(sessions))
}

// resumeRestore goes on with a restore that the previous server did not finish.
func (s *App) resumeRestore(ctx context.Context, row workspace.Workspace) {
	leave := s.gates.block(row.ID)
	defer leave()
	if _, err := s.finishRestore(ctx, row, row.Name, time.Now()); err != nil {
		s.Log.Warn("finish a restore", "workspace", row.Name, "error", err)
	}
}

// restoredApart returns the row of a workspace that is about to be restored: with another
// place if a sandboxed program could replace directories at the one that it had, and then
// note says so. The caller calls s.placing.end.
func (s *App) restoredApart(ctx context.Context, row workspace.Workspace) (_ workspace.Workspace, note []string, err error) {
	if row.Root == "" || row.Mode == workspace.ModeInPlace {
		return row, nil, nil
	}
	why, err := s.takePlace(ctx, row.ID, filepath.Dir(row.Root))
	if err != nil || why == "" {
		return row, nil, err
	}
	apart, err := s.Workspaces.Apart(row)
	if err == nil && apart.Root != row.Root {
		note = []string{fmt.Sprintf("its directory is %s now, because where it was %s", apart.Root, why)}
	}
	return apart, note, err
}
