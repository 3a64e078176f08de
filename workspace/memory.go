package workspace

import "sync"

// maxMemory bounds the entries of a memory. A full one starts over.
const maxMemory = 4096

// memory keeps what was found out, by a key that says all that it depends on.
// The zero value is ready; any number of goroutines may use it.
type memory[K comparable, V any] struct {
	// mu guards known.
	mu    sync.Mutex
	known map[K]V
}

func (m *memory[K, V]) get(key K) (V, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	v, ok := m.known[key]
	return v, ok
}

func (m *memory[K, V]) put(key K, v V) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.known == nil || len(m.known) >= maxMemory {
		m.known = map[K]V{}
	}
	m.known[key] = v
}
