package app

import (
	"context"
	"slices"
	"sync"
	"time"

	"middleman/internal/api"
	"middleman/internal/store"
	"middleman/terminal"
)

const (
	// maxWorkers bounds the live workers of one session.
	maxWorkers = 64
	// maxWorkerDepth bounds workers of workers.
	maxWorkerDepth = 4
)

// workers are the tombstones of all workers, on disk and here.
type workers struct {
	files store.Tombstones
	// before are those that the server before left open; load sets it.
	before []string
	// mu guards byID and orders the writes.
	mu   sync.Mutex
	byID map[string]store.Tombstone
}

// load reads what the server before left.
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

// add records a worker before anything of it is made, unless its parent has
// too many or is too deep. It fills in the depth.
func (k *workers) add(t store.Tombstone) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	live := 0
	for _, other := range k.byID {
		if other.Parent == t.Parent && other.Ended == nil {
			live++
		}
	}
	t.Depth = k.byID[t.Parent].Depth + 1 // 0 for one that is no worker
	switch {
	case live >= maxWorkers:
		return Refusef(api.CodeTooManyWorkers,
			"session %s has %d workers that have not ended, and may have no more at a time: wait for some", t.Parent, live)
	case t.Depth > maxWorkerDepth:
		return Refusef(api.CodeTooManyWorkers,
			"session %s is a worker of the %dth generation, and those have none of their own", t.Parent, maxWorkerDepth)
	}
	if err := k.files.Write(t); err != nil {
		return err
	}
	k.byID[t.ID] = t
	return nil
}

// update changes a tombstone that is not complete yet, and says whether there
// is one.
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

// open returns the tombstone of a worker that is not complete yet.
func (k *workers) open(id string) (store.Tombstone, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	t, ok := k.byID[id]
	return t, ok && t.Ended == nil
}

// list returns those that match, oldest first.
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

// failed completes a tombstone of a worker that did not come to be.
func failed(reason string) func(*store.Tombstone) {
	return func(t *store.Tombstone) {
		now := time.Now().UTC()
		t.State, t.Error, t.Ended = terminal.StateFailed, reason, &now
	}
}

// WorkerView is what clients see of a tombstone.
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
// when the time is over.
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
