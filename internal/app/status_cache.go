package app

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"middleman/internal/private"
	"middleman/workspace"
)

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
