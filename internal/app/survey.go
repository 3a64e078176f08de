package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"middleman/internal/store"
	"middleman/terminal"
	"middleman/workspace"
)

// Surveyor looks for leftovers. It changes nothing and works without a server.
type Surveyor struct {
	Store      *store.Store // may be open for reading only; nil means an empty store
	Workspaces Workspaces
	Backends   []terminal.Backend
	// Workers has the records that tell which workers have ended. For the zero
	// value, none has.
	Workers store.Tombstones
	// Age is the age from which a snapshot of a deleted workspace is a leftover;
	// 0 means never.
	Age time.Duration
	// AllRecords counts the record of each worker that has ended and whose parent
	// is gone as a leftover, however old it is.
	AllRecords bool
}

// Survey returns all leftovers: first those that have a record, then sessions
// without a row, then those that were found on disk.
func (v Surveyor) Survey(ctx context.Context) ([]workspace.Leftover, error) {
	r, sessions, err := v.records(ctx)
	if err != nil {
		return nil, err
	}
	found := slices.Concat(v.rows(ctx, r), v.workers(ctx, r), v.workerRecords(ctx, r))
	deleted, err := v.deleted(ctx)
	if err != nil {
		return nil, err
	}
	found = append(found, deleted...)
	for _, x := range sessions {
		if l, is := v.session(r, x); is {
			found = append(found, l)
		}
	}
	onDisk, err := v.Workspaces.Leftovers(ctx, v.recorded)
	return append(found, onDisk...), err
}

func (v Surveyor) recorded(ctx context.Context) (workspace.Records, error) {
	r, _, err := v.records(ctx)
	return r, err
}

// stray is a session without a row.
type stray struct {
	backend terminal.Backend
	id      string
	status  terminal.Status
}

// records reads the rows, and asks each session without a row for its workspace.
func (v Surveyor) records(ctx context.Context) (r workspace.Records, strays []stray, err error) {
	known := map[string]bool{}
	r.Busy, r.Retired = map[string]string{}, v.retired()
	if v.Store != nil {
		all := store.Page{Limit: -1}
		if r.Workspaces, _, err = v.Store.Workspaces(ctx, all); err != nil {
			return r, nil, err
		}
		set := namesOf(r.Workspaces)
		for i, w := range r.Workspaces { // what is found is reported to a user
			r.Workspaces[i].Name = set.Label(called(w))
		}
		deleted, _, err := v.Store.DeletedWorkspaces(ctx, all)
		if err != nil {
			return r, nil, err
		}
		for _, d := range deleted {
			if d.RestoreFrom == workspace.FromSnapshot { // the others own nothing on disk but transcripts
				r.Deleted = append(r.Deleted, d.Workspace)
			}
		}
		rows, _, err := v.Store.Sessions(ctx, "", all)
		if err != nil {
			return r, nil, err
		}
		kept, _, err := v.Store.Transcripts(ctx, "", all)
		if err != nil {
			return r, nil, err
		}
		for _, t := range kept {
			known[t.ID] = true
		}
		for _, row := range rows {
			known[row.ID] = true
			if !row.State.Ended() {
				r.Busy[row.WorkspaceID] = "session " + row.Name + " has not ended"
			}
		}
	}
	strays, r.Unsure = v.strays(ctx, known, r.Busy)
	return r, strays, nil
}

// strays returns the sessions without a row that answer, and adds their
// workspaces to busy. A session that does not answer may run in any directory:
// unsure is then not nil.
func (v Surveyor) strays(ctx context.Context, known map[string]bool, busy map[string]string) (list []stray, unsure error) {
	for _, b := range v.Backends {
		ids, err := b.List(ctx)
		if err != nil {
			unsure = errors.Join(unsure, fmt.Errorf("list %s sessions: %w", b.Name(), err))
			continue
		}
		for _, id := range ids {
			if known[id] {
				continue
			}
			asking, cancel := context.WithTimeout(ctx, adoptTimeout)
			status, err := b.Session(id).Status(asking)
			cancel()
			switch {
			case provesEnd(err):
			case err != nil || status.Workspace == "" && !status.State.Ended():
				unsure = errors.Join(unsure, fmt.Errorf("session %s does not say which workspace it belongs to", id))
			default:
				list = append(list, stray{b, id, status})
				if !status.State.Ended() || len(status.Left) > 0 {
					busy[status.Workspace] = "session " + id + " runs in it"
				}
			}
		}
	}
	return list, unsure
}

// session judges a session without a row. It returns false if that is no
// leftover.
func (v Surveyor) session(r workspace.Records, x stray) (workspace.Leftover, bool) {
	l := workspace.Leftover{Kind: workspace.LeftoverSession, What: x.id, ID: x.status.Workspace}
	for _, w := range r.Workspaces {
		if w.ID == l.ID {
			return l, false // the next server adopts it when it starts
		}
	}
	for _, w := range r.Deleted {
		if w.ID == l.ID && x.status.State.Ended() && len(x.status.Left) == 0 {
			return l, false // likewise, as a transcript
		}
	}
	where, err := v.Workspaces.Where(workspace.Workspace{ID: l.ID, Mode: workspace.ModeDirectory})
	switch {
	case l.ID == "":
		l.Why = "it does not say which workspace it belongs to"
	case err == nil && where.Base != "":
		l.Why, l.Hint = "the directory of its workspace exists, but has no record", "middleman import "+where.Base
	case !x.status.State.Ended() || len(x.status.Left) > 0:
		l.Why, l.Hint = "it runs, and its workspace is not known", "middleman stop "+x.id
	case err != nil && !errors.Is(err, workspace.ErrEscapes):
		l.Why = err.Error()
	default:
		l.Prunable, l.Why = true, "it has ended, and its workspace is gone"
		l.Final = fmt.Sprintf("its output, %d bytes", x.status.Head)
	}
	return l, true
}

// rows judges the workspaces that are recorded.
func (v Surveyor) rows(ctx context.Context, r workspace.Records) []workspace.Leftover {
	var found []workspace.Leftover
	missing := 0
	for _, w := range r.Workspaces {
		l, is := v.row(ctx, r, w)
		if !is {
			continue
		}
		if l.Kind == workspace.LeftoverMissing && w.Mode != workspace.ModeInPlace {
			missing++
		}
		found = append(found, l)
	}
	if missing < 2 || missing < len(r.Workspaces) {
		return found
	}
	for i := range found {
		if found[i].Kind == workspace.LeftoverMissing && found[i].Prunable {
			found[i].Prunable = false
			found[i].Why = "the directories of all workspaces are gone: is the disk of the base directory mounted?"
		}
	}
	return found
}

// row judges one recorded workspace. One that is being made, restored or deleted
// is no leftover.
func (v Surveyor) row(ctx context.Context, r workspace.Records, w workspace.Workspace) (l workspace.Leftover, is bool) {
	l = workspace.Leftover{What: w.Name, ID: w.ID, Repository: w.Repository}
	if w.State == workspace.StateFailed {
		l.Kind, l.Why = workspace.LeftoverFailed, w.Error
		l.Prunable = r.Busy[w.ID] == ""
		if w.Root != "" && w.Mode != workspace.ModeInPlace {
			v.inspect(ctx, w, &l)
		}
		return l, true
	}
	if w.State != workspace.StateReady {
		return l, false
	}
	where, err := v.Workspaces.Where(w)
	if err != nil {
		l.Kind, l.Why = workspace.LeftoverUnknown, err.Error()
		return l, true
	}
	if where.Sound() {
		return l, false
	}
	l.Kind, l.Why = workspace.LeftoverMoved, where.Trouble(w)
	if where == (workspace.Whereabouts{Missing: true}) {
		l.Kind = workspace.LeftoverMissing
		if w.Mode != workspace.ModeInPlace {
			l.Prunable, l.Why = r.Busy[w.ID] == "", "its directory "+w.Root+" is gone"
			v.inspect(ctx, w, &l)
		}
	}
	return l, true
}

// inspect marks l as not prunable if pruning would lose work, or if that cannot
// be determined.
func (v Surveyor) inspect(ctx context.Context, w workspace.Workspace, l *workspace.Leftover) {
	lost, err := v.Workspaces.Inspect(ctx, w)
	l.Lost = lost
	if !lost.Empty() {
		l.Prunable, l.Hint = false, "middleman rm "+w.Name
		l.Why += ", and it holds work: " + lost.Summary()
	} else if errors.Is(err, workspace.ErrMissing) && errors.Is(err, workspace.ErrUnknown) {
		l.Prunable, l.Hint = false, "middleman rm "+w.Name+" --discard-work"
		l.Why += ", and it is not known what was in it: it may have been moved, or be on a disk that is not mounted"
	} else if err != nil && !errors.Is(err, workspace.ErrMissing) {
		l.Prunable = false
		l.Why += "; " + err.Error()
	}
}

// deleted judges the workspaces that can be restored.
func (v Surveyor) deleted(ctx context.Context) ([]workspace.Leftover, error) {
	if v.Store == nil {
		return nil, nil
	}
	list, _, err := v.Store.DeletedWorkspaces(ctx, store.Page{Limit: -1})
	var found []workspace.Leftover
	for _, d := range list {
		if l, is := v.deletedOne(ctx, d); is {
			found = append(found, l)
		}
	}
	return found, err
}

func (v Surveyor) deletedOne(ctx context.Context, d store.Deleted) (workspace.Leftover, bool) {
	l := workspace.Leftover{Kind: workspace.LeftoverDeleted, What: d.Name, ID: d.ID, Repository: d.Repository}
	if d.RestoreFrom != workspace.FromSnapshot {
		return l, false // its record goes with its transcripts
	}
	kept, err := v.Workspaces.IsKept(ctx, d.Workspace)
	age := time.Since(d.DeletedAt)
	switch {
	case err != nil:
		l.Why = "it is not known whether it can be restored: " + err.Error()
	case !kept:
		l.Prunable, l.Why = true, "it is deleted, and its snapshot is gone"
	case v.Age > 0 && age > v.Age:
		l.Prunable, l.Why = true, "it was deleted "+d.DeletedAt.Local().Format(time.DateTime)
		l.Final = "its snapshot: it cannot be restored any more"
	default:
		return l, false
	}
	return l, true
}
