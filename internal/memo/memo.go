// Package memo is a cache of limited size for computed results.
package memo

import "sync"

// maxKnown is the number of entries at which a Map is emptied.
const maxKnown = 4096

// Map caches results. The key must contain everything that the result depends
// on. The zero value is ready. Safe for concurrent use.
type Map[K comparable, V any] struct {
	// mu guards known.
	mu    sync.Mutex
	known map[K]V
}

// Get returns the cached value of key, and whether there is one.
func (m *Map[K, V]) Get(key K) (V, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	v, ok := m.known[key]
	return v, ok
}

// Put caches v for key. A full Map is emptied first.
func (m *Map[K, V]) Put(key K, v V) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.known == nil || len(m.known) >= maxKnown {
		m.known = map[K]V{}
	}
	m.known[key] = v
}
