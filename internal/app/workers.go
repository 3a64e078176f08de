package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sync"
	"time"

	"middleman/internal/api"
	"middleman/internal/store"
	"middleman/terminal"
	"middleman/workspace"
)

const (
	// maxWorkers bounds the workers of one session that have not ended.
	maxWorkers = 64
	// maxWorkerDepth bounds the generations of workers of workers.
	maxWorkerDepth = 4
)

// workers has the tombstones of all workers, on disk and in memory. A tombstone
// is open until the worker's end is recorded in it.
type workers struct {
	files store.Tombstones
	// before has the ids of workers whose tombstones the previous server left
	// open; load sets it.
	before []string
	// mu guards byID and orders the writes.
	mu   sync.Mutex
	byID map[string]store.Tombstone
}

// load reads the tombstones from disk. On an error it has all that could be read.
func (k *workers) load() error {
	list, err := k.files.Read()
	k.mu.Lock()
	defer k.mu.Unlock()
	k.byID = map[string]store.Tombstone{}
	for _, t := range list {
		k.byID[t.ID] = t
		if t.Ended == nil {
			k.before = append(k.before, t.ID)
		}
	}
	return err
}

// add records a worker before anything of it is made, and sets its depth. It
// refuses if the parent has too many workers or is of the last generation.
func (k *workers) add(t store.Tombstone) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	live := 0
	for _, other := range k.byID {
		if other.Parent == t.Parent && other.Ended == nil {
			live++
		}
	}
	t.Depth = k.byID[t.Parent].Depth + 1 // the depth of a parent that is no worker is 0
	switch {
	case live >= maxWorkers:
		return Refusef(api.CodeTooManyWorkers,
			"session %s has %d running workers, and may have no more at a time: wait until one has ended", t.Parent, live)
	case t.Depth > maxWorkerDepth:
		return Refusef(api.CodeTooManyWorkers,
			"session %s is a worker of the %dth generation, and that generation may have no workers of its own", t.Parent, maxWorkerDepth)
	}
	if err := k.files.Write(t); err != nil {
		return err
	}
	k.byID[t.ID] = t
	return nil
}

// update changes an open tombstone, and reports whether there is one.
func (k *workers) update(id string, change func(*store.Tombstone)) (bool, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	t, ok := k.byID[id]
	if !ok || t.Ended != nil {
		return false, nil
	}
	change(&t)
	if err := k.files.Write(t); err != nil {
		return true, err
	}
	k.byID[id] = t
	return true, nil
}

// remove removes a complete tombstone.
func (k *workers) remove(id string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if t, ok := k.byID[id]; ok && t.Ended == nil {
		return fmt.Errorf("remove record of worker %s: it has not ended", id)
	}
	if err := k.files.Remove(id); err != nil {
		return err
	}
	delete(k.byID, id)
	return nil
}

// open returns the tombstone of a worker if it is open.
func (k *workers) open(id string) (store.Tombstone, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	t, ok := k.byID[id]
	return t, ok && t.Ended == nil
}

// list returns the tombstones that match, oldest first.
func (k *workers) list(match func(store.Tombstone) bool) []store.Tombstone {
	k.mu.Lock()
	defer k.mu.Unlock()
	var list []store.Tombstone
	for _, t := range k.byID {
		if match(t) {
			list = append(list, t)
		}
	}
	slices.SortFunc(list, func(a, b store.Tombstone) int { return a.Started.Compare(b.Started) })
	return list
}

// failed returns a change that completes the tombstone of a worker that did not
// start.
func failed(reason string) func(*store.Tombstone) {
	return func(t *store.Tombstone) {
		now := time.Now().UTC()
		t.State, t.Error, t.Ended = terminal.StateFailed, reason, &now
	}
}

// WorkerView returns a tombstone in the form for clients.
func WorkerView(t store.Tombstone) api.Worker {
	return api.Worker{
		ID: t.ID, Name: t.Name, Isolation: string(t.Isolation), Depth: t.Depth,
		ParentSession: t.Parent, ParentWorkspace: t.ParentWorkspace,
		WorkspaceID: t.Workspace, WorkspaceName: t.WorkspaceName, Path: t.Path,
		Branch: t.Branch, Base: t.Base, Tip: t.Tip,
		State: t.State, Exit: t.Exit, Error: t.Error, StartedAt: t.Started, EndedAt: t.Ended,
		Left: t.Left, LeftUnknown: t.Unknown,
	}
}

// waitWorkers returns the workers of a session once all of them have ended, or
// after limit.
func (s *App) waitWorkers(ctx context.Context, sessionID string, limit time.Duration) ([]store.Tombstone, error) {
	timeout := time.After(limit)
	for {
		_, _, _, changed := s.Events.After(s.Events.Now())
		live := false
		list := s.workers.list(func(t store.Tombstone) bool {
			live = live || t.Parent == sessionID && t.Ended == nil
			return t.Parent == sessionID
		})
		if !live {
			return list, nil
		}
		select {
		case <-changed:
		case <-timeout:
			return list, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// completeTombstone completes the tombstone of an ended session, if that is a
// worker's: how it ended, the commit of its branch, and the work in its
// directory. Call it before the directory is deleted. Nothing changes a complete
// tombstone.
func (s *App) completeTombstone(ctx context.Context, id string) {
	t, ok := s.workers.open(id)
	if !ok {
		return
	}
	row, err := s.Store.Session(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		s.updateTombstone(t.ID, failed("it was never started"))
		return
	}
	if err != nil && ctx.Err() != nil {
		return
	}
	if err != nil {
		s.Log.Error("record the end of a worker", "session", id, "error", err)
		return
	}
	if !row.State.Ended() {
		return
	}
	s.describeEnd(ctx, &t, row)
	if ctx.Err() != nil {
		return // the server stops; the next one completes it
	}
	s.updateTombstone(t.ID, func(old *store.Tombstone) { *old = t })
	s.publishSession(ctx, id)
}

// updateTombstone changes an open tombstone. If it cannot be written it stays
// open, and the next server completes it.
func (s *App) updateTombstone(id string, change func(*store.Tombstone)) {
	if _, err := s.workers.update(id, change); err != nil {
		s.Log.Error("write the record of a worker", "session", id, "error", err)
	}
}

// describeEnd sets the fields of a tombstone that are known once the worker has
// ended.
func (s *App) describeEnd(ctx context.Context, t *store.Tombstone, row store.Session) {
	ended := time.Now().UTC()
	if row.Exit != nil {
		ended = row.Exit.Time
	}
	t.Name, t.State, t.Exit, t.Error, t.Ended, t.Path = row.Name, row.State, row.Exit, row.Error, &ended, row.Dir
	w, err := s.Store.Workspace(ctx, row.WorkspaceID)
	if err != nil {
		t.Unknown = "its workspace is not recorded any more"
		return
	}
	t.WorkspaceName = w.Name
	if t.Isolation == store.IsolationShared {
		return
	}
	t.Branch, t.Base, t.GitDir = w.Branch, w.BaseCommit, w.GitDir
	if t.Tip, err = s.Workspaces.Tip(ctx, w); err == nil {
		var left workspace.Loss
		if left, err = s.Workspaces.Inspect(ctx, w); err == nil {
			t.Left = &left
		}
	}
	if err != nil {
		t.Unknown = s.redact(err.Error())
	}
}

// recallWorkers reads the tombstones, and completes those of workers that the
// previous server never started. Files that cannot be read stay as they are.
func (s *App) recallWorkers(ctx context.Context) {
	if err := s.workers.load(); err != nil {
		s.Log.Warn("read the records of workers", "error", err)
	}
	for _, id := range s.workers.before {
		if _, err := s.Store.Session(ctx, id); errors.Is(err, store.ErrNotFound) {
			s.updateTombstone(id, failed("the server ended before it was started"))
		}
	}
}

// buryEnded completes the tombstones of workers that ended while no server ran.
// It goes by the list of the previous server's open tombstones, so it does not
// meet workers that are being made now. Those that run have a monitor.
func (s *App) buryEnded(ctx context.Context) {
	for _, id := range s.workers.before {
		s.completeTombstone(ctx, id)
	}
}

// resumeSpawn removes a worker's workspace whose creation the previous server
// did not finish, because no caller waits for it any more. If its session has a
// row, the workspace is complete and stays.
func (s *App) resumeSpawn(ctx context.Context, w workspace.Workspace) {
	rows, _, err := s.Store.Sessions(ctx, w.ID, store.Page{Limit: 1})
	if err == nil && len(rows) > 0 {
		if err := s.Store.EndCreation(ctx, w.ID); err != nil {
			s.Log.Error("record that a workspace is ready", "workspace", w.ID, "error", err)
		}
		return
	}
	undoing, cancel := context.WithTimeout(ctx, undoTimeout)
	defer cancel()
	if err == nil {
		err = s.undoSpawn(undoing, w)
	}
	if err != nil {
		s.Log.Warn("undo a spawn", "workspace", w.ID, "error", err)
		w.State, w.Error = workspace.StateFailed, "the server ended while it made this worker, and could not undo that: "+s.redact(err.Error())
		s.setWorkspaceState(ctx, w)
	}
}

// undoSpawn removes a worker's workspace in which no session ever ran, and its
// row. It refuses if there is work in it.
func (s *App) undoSpawn(ctx context.Context, w workspace.Workspace) error {
	w, err := s.intended(ctx, w)
	if err != nil {
		return err
	}
	if err := s.Workspaces.Undo(ctx, w, false); err != nil {
		return err
	}
	s.uncreate(ctx, w)
	return nil
}

// intended returns w with its root set. For a worker whose creation did not get
// that far, that is the planned root in its parent's scope, where the creation is to be
// undone. It stays empty if nothing is there and the scope is exposed: then the creation
// began in our own base, where Undo finds it.
func (s *App) intended(ctx context.Context, w workspace.Workspace) (workspace.Workspace, error) {
	if w.Root != "" || w.Parent == "" || w.Mode == workspace.ModeInPlace {
		return w, nil
	}
	parent, err := s.Store.Workspace(ctx, w.Parent)
	if err != nil {
		return w, err
	}
	root, err := workspace.WorkerRoot(parent, w.ID)
	if err != nil {
		return w, err
	}
	if _, err := os.Lstat(root); errors.Is(err, fs.ErrNotExist) {
		if why, err := s.exposedBy(ctx, canonical(parent.Root)); why != "" || err != nil {
			return w, err
		}
	}
	w.Root = root
	return w, nil
}

// workerViews returns tombstones in the form for clients. For a worker that has
// not ended, the state comes from its backend.
func (s *App) workerViews(ctx context.Context, list []store.Tombstone) ([]api.Worker, error) {
	present := map[string]bool{}
	rows, _, err := s.Store.Workspaces(ctx, store.Page{Limit: -1})
	if err != nil {
		return nil, err
	}
	for _, w := range rows {
		present[w.ID] = true
	}
	views := make([]api.Worker, len(list))
	for i, t := range list {
		v := WorkerView(t)
		v.Present = present[t.Workspace]
		if t.Ended == nil {
			s.fillLive(ctx, &v)
		}
		views[i] = v
	}
	return views, nil
}

// fillLive sets the state of a worker whose tombstone is open.
func (s *App) fillLive(ctx context.Context, v *api.Worker) {
	row, err := s.Store.Session(ctx, v.ID)
	if err != nil {
		return // it is still being made
	}
	now := s.sessionView(ctx, row, v.WorkspaceName)
	v.Name, v.Path, v.Error = row.Name, row.Dir, now.Error
	// A worker counts as ended once its tombstone is complete.
	if v.State = now.State; v.State.Ended() {
		v.State = terminal.StateStopping
	}
	if w, err := s.Store.Workspace(ctx, row.WorkspaceID); err == nil {
		v.WorkspaceName = s.label(ctx, w)
		if v.Isolation == string(store.IsolationWorktree) {
			v.Branch, v.Base = w.Branch, w.BaseCommit
		}
	}
}

// ListWorkers returns the workers of a workspace's sessions, or all workers
// where workspaceID is "", oldest first. Ended workers are included.
func (s *App) ListWorkers(ctx context.Context, workspaceID string) ([]api.Worker, error) {
	return s.workerViews(ctx, s.workers.list(func(t store.Tombstone) bool {
		return workspaceID == "" || t.ParentWorkspace == workspaceID
	}))
}

// SessionWorkers returns the workers of a session once all of them have ended,
// or after limit. A removed session still has the workers that are recorded.
func (s *App) SessionWorkers(ctx context.Context, sessionID string, limit time.Duration) ([]api.Worker, error) {
	list, err := s.waitWorkers(ctx, sessionID, limit)
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		if _, err := s.Store.Session(ctx, sessionID); err != nil {
			return nil, err
		}
	}
	return s.workerViews(ctx, list)
}
