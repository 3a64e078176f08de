package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"middleman/internal/private"
	"middleman/workspace"
)

const (
	// listWait is how long a list waits for workspaces of which nothing is
	// known, or of which it is known that they have changed.
	listWait = 400 * time.Millisecond
	// freshWait is how long one waits that asked for a look of now.
	freshWait = 30 * time.Second
	// leastAge is how old a status gets at least before a list has it looked
	// at again, and ageEach is what each workspace of the list adds: a list
	// that is asked for all the time costs a part of one processor.
	leastAge = 2 * time.Second
	ageEach  = 50 * time.Millisecond
	// keepEvery is how often what is known is put on disk, for a server that is
	// killed: one that ends puts it there too.
	keepEvery = 10 * time.Second
)

// Inspector looks at workspaces without touching them; *workspace.Manager does.
type Inspector interface {
	Status(ctx context.Context, w workspace.Workspace) (workspace.Status, error)
	// Mark stands for what can be seen without git; where it differs, a status
	// of before is outdated.
	Mark(w workspace.Workspace, upstream string) string
	Compare(ctx context.Context, w workspace.Workspace, r workspace.DiffRequest) (*workspace.Comparison, error)
	Commits(ctx context.Context, w workspace.Workspace, r workspace.CommitsRequest) (workspace.Commits, error)
	Forecast(ctx context.Context, w workspace.Workspace, others []workspace.Workspace) ([]workspace.Forecast, error)
}

// knownStatus is what is known of one workspace.
type knownStatus struct {
	Status workspace.Status `json:"status"`
	Mark   string           `json:"mark"` // as of just before the look
	// None: it is no repository, which is no status at all.
	None bool `json:"none,omitempty"`
}

func (k knownStatus) upstream() string {
	if k.Status.Upstream == nil {
		return ""
	}
	return k.Status.Upstream.Of
}

// statusCache are what was found out about how workspaces stand. The zero value
// is ready.
type statusCache struct {
	slots sync.Once
	slot  chan struct{} // as many looks as processors
	// mu guards the fields below.
	mu      sync.Mutex
	known   map[string]knownStatus
	looking map[string]chan struct{} // closed when the look ends
	changed bool                     // since they were kept
	kept    time.Time
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

// begin returns the end of the look at a workspace that is in progress, or
// makes the caller the one who looks.
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

// end takes what a look has found, nil where it came to nothing.
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

// keepNow reports whether it is time to put what is known on disk.
func (k *statusCache) keepNow() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.changed || time.Since(k.kept) < keepEvery {
		return false
	}
	k.kept = time.Now()
	return true
}

// enter waits for a place among those who look.
func (k *statusCache) enter(ctx context.Context) (leave func(), ok bool) {
	k.slots.Do(func() { k.slot = make(chan struct{}, max(2, runtime.NumCPU())) })
	select {
	case k.slot <- struct{}{}:
		return func() { <-k.slot }, true
	case <-ctx.Done():
		return nil, false
	}
}

// statuses are how the workspaces stand as far as that is known, each with its
// time; nil for those that have no repository, or where it was not asked. It
// waits, a bounded time, for what is not known or known to have changed. What
// has only grown old is looked at afterwards, for the next one who asks.
func (s *App) statuses(ctx context.Context, list []workspace.Workspace, q StatusQuery) []*workspace.Status {
	out := make([]*workspace.Status, len(list))
	if !q.Status {
		return out
	}
	began := time.Now()
	var needed, old []workspace.Workspace
	for _, w := range list {
		known, ok := s.statusCache.get(w.ID)
		switch {
		case !standsSomehow(w):
		case q.Fresh, !ok, s.mark(w, known.upstream()) != known.Mark:
			needed = append(needed, w)
		case began.Sub(known.Status.AsOf) > leastAge+time.Duration(len(list))*ageEach:
			old = append(old, w)
		}
	}
	s.lookAtAll(ctx, needed, q.Fresh, began)
	for _, w := range old {
		s.lookAgain(ctx, w)
	}
	for i, w := range list {
		if standsSomehow(w) {
			out[i] = s.shownStatus(w, began)
		}
	}
	return out
}

// standsSomehow reports whether w may have a status.
func standsSomehow(w workspace.Workspace) bool {
	return w.State == workspace.StateReady && w.Mode != workspace.ModeDirectory
}

// lookAtAll waits until each of list was looked at, or the time is up. A look
// that had begun before is not a fresh one.
func (s *App) lookAtAll(ctx context.Context, list []workspace.Workspace, fresh bool, began time.Time) {
	limit := listWait
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

// lookAgain has a workspace looked at in the background and returns what is
// closed when that is over.
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

// lookAt is one look. What comes to nothing because the server ends, or the
// workspace is not what it was, is nothing to keep.
func (s *App) lookAt(ctx context.Context, w workspace.Workspace) *knownStatus {
	leave, ok := s.statusCache.enter(ctx)
	if !ok {
		return nil
	}
	defer leave()
	known, _ := s.statusCache.get(w.ID)
	found := &knownStatus{Mark: s.mark(w, known.upstream())}
	asOf := time.Now().UTC()
	err := s.Guarded("look at workspace "+w.ID, func() (err error) {
		found.Status, err = s.Workspaces.Status(ctx, w)
		return err
	})
	if ctx.Err() != nil {
		return nil
	}
	if err != nil {
		found.None = errors.Is(err, workspace.ErrNotRepository)
		found.Status = workspace.Status{AsOf: asOf, Source: "git", Unknown: []string{s.redact(err.Error())}}
	}
	if found.upstream() != known.upstream() {
		found.Mark = "" // of another upstream; the next look has the right one
	}
	if now, err := s.Store.Workspace(ctx, w.ID); err != nil || now.State != workspace.StateReady {
		return nil
	}
	return found
}

// mark is that of a workspace, "" where it panics.
func (s *App) mark(w workspace.Workspace, upstream string) (mark string) {
	s.contain("mark of workspace "+w.ID, func() { mark = s.Workspaces.Mark(w, upstream) }, nil)
	return mark
}

// shownStatus is what is known of w, said as of when.
func (s *App) shownStatus(w workspace.Workspace, began time.Time) *workspace.Status {
	known, ok := s.statusCache.get(w.ID)
	if !ok {
		return &workspace.Status{Source: "memory", Unknown: []string{"everything: it is being looked at"}}
	}
	if known.None {
		return nil
	}
	status := known.Status
	if status.AsOf.Before(began) {
		if status.Source == "git" {
			status.Source = "memory"
		}
		status.Outdated = s.mark(w, known.upstream()) != known.Mark
	}
	return &status
}

// ReadStatuses reads how workspaces stood, by id, as the server that ran last
// has left it. No file is no error.
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
		return nil, fmt.Errorf("read how workspaces stood: %s: %w", path, err)
	}
	return known, nil
}

// decodeStatusCache reads what saveStatusCache has written. Its ids are for looking
// up alone.
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

// loadStatusCache takes what the server before has left. It is a cache: one
// that cannot be read is made anew.
func (s *App) loadStatusCache() {
	known, err := readStatusCache(s.Dirs.Statuses())
	if err != nil {
		s.Log.Warn("statuses are looked up again", "error", err)
		return
	}
	s.statusCache.mu.Lock()
	defer s.statusCache.mu.Unlock()
	s.statusCache.known = known
}

// keepStatusCache leaves what is known for the next server.
func (s *App) keepStatusCache() {
	if err := s.saveStatusCache(); err != nil {
		s.Log.Warn("how workspaces stand is not kept", "error", err)
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
	path := s.Dirs.Statuses()
	temp, err := os.CreateTemp(filepath.Dir(path), ".statuses-*") // 0600
	if err != nil {
		return err
	}
	_, err = temp.Write(raw)
	if err = errors.Join(err, temp.Close()); err == nil {
		err = os.Rename(temp.Name(), path)
	}
	if err != nil {
		err = errors.Join(err, os.Remove(temp.Name()))
	}
	return err
}
