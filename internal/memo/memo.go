// Package memo remembers what was found out, as long as there is room for it.
package memo

import "sync"

// maxKnown bounds the entries of a Map. A full one starts over.
const maxKnown = 4096

// Map keeps what was found out, by a key that says all that it depends on.
// The zero value is ready; any number of goroutines may use it.
type Map[K comparable, V any] struct {
	// mu guards known.
	mu    sync.Mutex
	known map[K]V
}

// Get returns what is known of key, and whether anything is.
func (m *Map[K, V]) Get(key K) (V, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	v, ok := m.known[key]
	return v, ok
}

// Put remembers v of key.
func (m *Map[K, V]) Put(key K, v V) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.known == nil || len(m.known) >= maxKnown {
		m.known = map[K]V{}
	}
	m.known[key] = v
}
