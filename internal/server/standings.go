package server

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
	known, err := readStandings(path)
	out := map[string]workspace.Status{}
	for id, k := range known {
		if !k.None {
			out[id] = k.Status
		}
	}
	return out, err
}

func readStandings(path string) (map[string]standing, error) {
	raw, err := private.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var known map[string]standing
	if err == nil {
		known, err = decodeStandings(raw)
	}
	if err != nil {
		return nil, fmt.Errorf("read how workspaces stood: %s: %w", path, err)
	}
	return known, nil
}

// decodeStandings reads what writeStandings has written. Its ids are for looking
// up alone.
func decodeStandings(raw []byte) (map[string]standing, error) {
	known := map[string]standing{}
	if err := json.Unmarshal(raw, &known); err != nil {
		return nil, err
	}
	for id, k := range known {
		k.Status.Source = "disk"
		known[id] = k
	}
	return known, nil
}

// recallStandings takes what the server before has left. It is a cache: one
// that cannot be read is made anew.
func (s *Server) recallStandings() {
	known, err := readStandings(s.Dirs.Statuses())
	if err != nil {
		s.Log.Warn("statuses are looked up again", "error", err)
		return
	}
	s.standings.mu.Lock()
	defer s.standings.mu.Unlock()
	s.standings.known = known
}

// keepStandings leaves what is known for the next server.
func (s *Server) keepStandings() {
	if err := s.writeStandings(); err != nil {
		s.Log.Warn("how workspaces stand is not kept", "error", err)
	}
}

func (s *Server) writeStandings() error {
	s.standings.mu.Lock()
	changed := s.standings.changed
	s.standings.changed = false
	raw, err := json.Marshal(s.standings.known)
	s.standings.mu.Unlock()
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
