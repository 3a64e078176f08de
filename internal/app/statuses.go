package app

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"slices"
	"sync"
	"time"

	"middleman/internal/private"
	"middleman/internal/watch"
	"middleman/workspace"
)

const (
	listWait = 400 * time.Millisecond // the default of Options.StatusWait
	// freshWait is how long a request for fresh statuses waits.
	freshWait = 30 * time.Second
	// A list refreshes the status of a workspace that is not watched if it is
	// older than leastAge plus ageEach for each such workspace in the list. So a
	// client that lists all the time uses only a part of one processor.
	leastAge = 500 * time.Millisecond
	ageEach  = 50 * time.Millisecond
	// A list waits for the statuses of such workspaces if there are at most
	// waitedFor of them. Those of more are refreshed in the background, for the
	// next list.
	waitedFor = 8
	// trustEvents is the age from which the status of a watched workspace is
	// refreshed although no event came: a write to memory-mapped files makes
	// none, and the user's own settings of git are not watched.
	trustEvents = 5 * time.Minute
	// keepEvery is how often the cache is saved, in case the server is killed. A
	// server that stops saves it too.
	keepEvery = 10 * time.Second
)

// knownStatus is the cache entry of one workspace.
type knownStatus struct {
	Status workspace.Status `json:"status"`
	Mark   string           `json:"mark"` // taken just before the status
	// None means that the directory is no repository, so there is no status.
	None bool `json:"none,omitempty"`
	// events is the moment just before the status in the events of the watched
	// directories; 0 if they are not watched.
	events watch.Mark
}

func (k knownStatus) upstream() string {
	if k.Status.Upstream == nil {
		return ""
	}
	return k.Status.Upstream.Of
}

// statusCache has the last known status of each workspace. The zero value is
// ready.
type statusCache struct {
	slots sync.Once
	slot  chan struct{} // bounds concurrent looks to the processors, at least 2
	// mu guards the fields below.
	mu      sync.Mutex
	known   map[string]knownStatus
	looking map[string]chan struct{} // closed when the look ends
	changed bool                     // known has changed since it was saved
	kept    time.Time                // when known was last saved
}

func (k *statusCache) get(id string) (knownStatus, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	known, ok := k.known[id]
	return known, ok
}

func (k *statusCache) forget(id string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.known, id)
	k.changed = true
}

// begin returns a channel that is closed when the look at a workspace ends. mine
// is true if no look was in progress: then the caller must look, and call end.
func (k *statusCache) begin(id string) (done chan struct{}, mine bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if done, busy := k.looking[id]; busy {
		return done, false
	}
	if k.looking == nil {
		k.looking = map[string]chan struct{}{}
	}
	done = make(chan struct{})
	k.looking[id] = done
	return done, true
}

// end ends a look and stores its result, if found is not nil.
func (k *statusCache) end(id string, found *knownStatus) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if found != nil {
		if k.known == nil {
			k.known = map[string]knownStatus{}
		}
		k.known[id], k.changed = *found, true
	}
	close(k.looking[id])
	delete(k.looking, id)
}

// keepNow reports whether it is time to save the cache. If so, the caller must.
func (k *statusCache) keepNow() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.changed || time.Since(k.kept) < keepEvery {
		return false
	}
	k.kept = time.Now()
	return true
}

// enter waits until one of the concurrent looks is free; ok is false if ctx ends
// before.
func (k *statusCache) enter(ctx context.Context) (leave func(), ok bool) {
	k.slots.Do(func() { k.slot = make(chan struct{}, max(2, runtime.NumCPU())) })
	select {
	case k.slot <- struct{}{}:
		return func() { <-k.slot }, true
	case <-ctx.Done():
		return nil, false
	}
}

// statuses returns the known status of each workspace in list; nil for one
// without a repository, or if q does not ask for it. It waits, a bounded time,
// for statuses that are unknown or known to have changed. One that is only old
// is refreshed, if the workspace is not watched: see waitedFor.
func (s *App) statuses(ctx context.Context, list []workspace.Workspace, q StatusQuery) []*workspace.Status {
	out := make([]*workspace.Status, len(list))
	if !q.Status {
		return out
	}
	began := time.Now()
	var needed, polled []workspace.Workspace
	for _, w := range list {
		known, ok := s.statusCache.get(w.ID)
		switch {
		case !standsSomehow(w):
		case q.Fresh, !ok, s.changed(w, known):
			needed = append(needed, w)
		case known.events == 0:
			polled = append(polled, w)
		case began.Sub(known.Status.AsOf) > trustEvents:
			s.lookAgain(ctx, w)
		}
	}
	old := slices.DeleteFunc(polled, func(w workspace.Workspace) bool {
		known, _ := s.statusCache.get(w.ID)
		return began.Sub(known.Status.AsOf) <= leastAge+time.Duration(len(polled))*ageEach
	})
	if len(old) <= waitedFor {
		needed = append(needed, old...)
	}
	for _, w := range old {
		s.lookAgain(ctx, w)
	}
	s.lookAtAll(ctx, needed, q.Fresh, began)
	for i, w := range list {
		if standsSomehow(w) {
			out[i] = s.shownStatus(w, began)
		}
	}
	return out
}

// changed reports whether something is known to have changed since a status: by
// its mark, or by events if the workspace was watched.
func (s *App) changed(w workspace.Workspace, known knownStatus) bool {
	return known.events != 0 && !s.watcher.Unchanged(w.ID, known.events) || s.mark(w, known.upstream()) != known.Mark
}

// standsSomehow reports whether w may have a status.
func standsSomehow(w workspace.Workspace) bool {
	return w.State == workspace.StateReady && w.Mode != workspace.ModeDirectory
}

// lookAtAll waits until each workspace in list was looked at, or until the time
// is up. If fresh, it does not count a look that had begun before began: the
// second round looks again.
func (s *App) lookAtAll(ctx context.Context, list []workspace.Workspace, fresh bool, began time.Time) {
	limit := cmp.Or(s.StatusWait, listWait)
	if fresh {
		limit = freshWait
	}
	waiting, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for range 2 {
		var ends []<-chan struct{}
		for _, w := range list {
			if known, ok := s.statusCache.get(w.ID); !ok || known.Status.AsOf.Before(began) {
				ends = append(ends, s.lookAgain(ctx, w))
			}
		}
		for _, end := range ends {
			select {
			case <-end:
			case <-waiting.Done():
				return
			}
		}
		if !fresh {
			return
		}
	}
}

// lookAgain looks at a workspace in the background and returns a channel that is
// closed when the look ends. It joins a look in progress.
func (s *App) lookAgain(ctx context.Context, w workspace.Workspace) <-chan struct{} {
	done, mine := s.statusCache.begin(w.ID)
	if !mine {
		return done
	}
	started := s.watches.start(ctx, func(ctx context.Context) {
		s.statusCache.end(w.ID, s.lookAt(ctx, w))
		if s.statusCache.keepNow() {
			s.keepStatusCache()
		}
	})
	if !started {
		s.statusCache.end(w.ID, nil)
	}
	return done
}

// lookAt is one look. It returns nil, so that nothing is cached, if the server
// stops meanwhile or the workspace is no longer ready.
func (s *App) lookAt(ctx context.Context, w workspace.Workspace) *knownStatus {
	leave, ok := s.statusCache.enter(ctx)
	if !ok {
		return nil
	}
	defer leave()
	known, _ := s.statusCache.get(w.ID)
	found := &knownStatus{Mark: s.mark(w, known.upstream())}
	asOf := time.Now().UTC()
	var unwatched error
	err := s.Guarded("look at workspace "+w.ID, func() (err error) {
		found.events, unwatched = s.watcher.Arm(ctx, w.ID, func() (watch.Tree, error) { return s.Workspaces.Tree(ctx, w) })
		found.Status, err = s.Workspaces.Status(ctx, w)
		return err
	})
	if ctx.Err() != nil {
		return nil
	}
	if err != nil {
		// A directory that was in a repository has a status, which is unknown.
		found.None = errors.Is(err, workspace.ErrNotRepository) && w.GitDir == ""
		why := cmp.Or(trouble(s.Workspaces, w), s.redact(err.Error()))
		found.Status = workspace.Status{AsOf: asOf, Source: "git", Unknown: []string{why}}
		if !found.None && !slices.Equal(known.Status.Unknown, found.Status.Unknown) {
			s.Log.Warn("status of workspace", "workspace", w.Name, "unknown", why)
		}
	}
	if unwatched != nil && err == nil {
		found.Status.Unwatched = s.redact(unwatched.Error())
	}
	if found.upstream() != known.upstream() {
		found.Mark = "" // it was taken for another upstream; the next look corrects it
	}
	if now, err := s.Store.Workspace(ctx, w.ID); err != nil || now.State != workspace.StateReady {
		s.watcher.Drop(w.ID)
		return nil
	}
	return found
}

// mark returns the mark of a workspace, or "" if Mark panics.
func (s *App) mark(w workspace.Workspace, upstream string) (mark string) {
	s.contain("mark of workspace "+w.ID, func() { mark = s.Workspaces.Mark(w, upstream) }, nil)
	return mark
}

// shownStatus returns the cached status of w for a client. One from before began
// is marked as still true by the events, as outdated, or as coming from memory.
func (s *App) shownStatus(w workspace.Workspace, began time.Time) *workspace.Status {
	known, ok := s.statusCache.get(w.ID)
	if !ok {
		return &workspace.Status{Source: "memory", Unknown: []string{"everything: it is being inspected"}}
	}
	if known.None {
		return nil
	}
	status := known.Status
	if status.AsOf.Before(began) {
		status.Outdated = s.changed(w, known)
		switch {
		case status.Source != "git":
		case known.events != 0 && !status.Outdated:
			status.Source = "events"
		default:
			status.Source = "memory"
		}
	}
	return &status
}

// ReadStatuses reads the statuses that the last server saved in the file at
// path, by workspace id. A missing file is no error.
func ReadStatuses(path string) (map[string]workspace.Status, error) {
	known, err := readStatusCache(path)
	out := map[string]workspace.Status{}
	for id, k := range known {
		if !k.None {
			out[id] = k.Status
		}
	}
	return out, err
}

func readStatusCache(path string) (map[string]knownStatus, error) {
	raw, err := private.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var known map[string]knownStatus
	if err == nil {
		known, err = decodeStatusCache(raw)
	}
	if err != nil {
		return nil, fmt.Errorf("read the saved statuses of workspaces: %s: %w", path, err)
	}
	return known, nil
}

// decodeStatusCache decodes what saveStatusCache wrote. The ids in it are not
// checked: use them as map keys only.
func decodeStatusCache(raw []byte) (map[string]knownStatus, error) {
	known := map[string]knownStatus{}
	if err := json.Unmarshal(raw, &known); err != nil {
		return nil, err
	}
	for id, k := range known {
		k.Status.Source = "disk"
		known[id] = k
	}
	return known, nil
}

// loadStatusCache loads the cache that the previous server saved. If it cannot
// be read, the server begins with an empty one.
func (s *App) loadStatusCache() {
	known, err := readStatusCache(s.Dirs.Statuses())
	if err != nil {
		s.Log.Warn("the saved statuses cannot be used, so all are read again", "error", err)
		return
	}
	s.statusCache.mu.Lock()
	defer s.statusCache.mu.Unlock()
	s.statusCache.known = known
}

// keepStatusCache saves the cache for the next server. It logs an error.
func (s *App) keepStatusCache() {
	if err := s.saveStatusCache(); err != nil {
		s.Log.Warn("the statuses of workspaces cannot be saved", "error", err)
	}
}

func (s *App) saveStatusCache() error {
	s.statusCache.mu.Lock()
	changed := s.statusCache.changed
	s.statusCache.changed = false
	raw, err := json.Marshal(s.statusCache.known)
	s.statusCache.mu.Unlock()
	if err != nil || !changed {
		return err
	}
	return private.Replace(s.Dirs.Statuses(), raw, private.ThisBoot)
}
