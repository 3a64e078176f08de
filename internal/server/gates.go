package server

import "sync"

// gates block launches in a workspace while it is looked at and deleted. The
// zero value is ready.
type gates struct {
	// mu guards byWorkspace.
	mu          sync.Mutex
	byWorkspace map[string]*sync.RWMutex
}

func (g *gates) of(workspaceID string) *sync.RWMutex {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.byWorkspace == nil {
		g.byWorkspace = map[string]*sync.RWMutex{}
	}
	m := g.byWorkspace[workspaceID]
	if m == nil {
		m = &sync.RWMutex{}
		g.byWorkspace[workspaceID] = m
	}
	return m
}

// launch enters the workspace to start a session, until leave is called; ok
// is false while it is being deleted.
func (g *gates) launch(workspaceID string) (leave func(), ok bool) {
	m := g.of(workspaceID)
	if !m.TryRLock() {
		return nil, false
	}
	return m.RUnlock, true
}

// block waits for launches in progress and keeps others out until leave is
// called.
func (g *gates) block(workspaceID string) (leave func()) {
	m := g.of(workspaceID)
	m.Lock()
	return m.Unlock
}

// forget drops the gate of a workspace that is no more.
func (g *gates) forget(workspaceID string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.byWorkspace, workspaceID)
}

// busy is a set of workspaces in which something goes on. The zero value is
// ready.
type busy struct {
	// mu guards ids.
	mu  sync.Mutex
	ids map[string]bool
}

// enter adds a workspace until leave is called; ok is false where it is among
// them.
func (b *busy) enter(id string) (leave func(), ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ids[id] {
		return nil, false
	}
	if b.ids == nil {
		b.ids = map[string]bool{}
	}
	b.ids[id] = true
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.ids, id)
	}, true
}

func (b *busy) has(id string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.ids[id]
}
