//go:build linux

package main

import (
	"fmt"
	"path/filepath"
	"time"

	"middleman/internal/api"
	"middleman/ptyowner"
	"middleman/terminal"
)

// restart is the time from a server's start until it has found every session
// that runs.
func (b *bench) restart() error {
	sessions := b.pick(500, 50)
	w, err := b.server.newWorkspace(b.ctx)
	if err != nil {
		return err
	}
	defer func() { b.server.removeWorkspace(b.ctx, w.ID) }()
	for range sessions {
		_, err := b.server.client.StartSession(b.ctx, w.ID, api.NewSession{Command: b.program(modeEcho, 0), Backend: "pty-owner", Size: b.size})
		if err != nil {
			return err
		}
	}
	b.server.stop()
	began := time.Now()
	if b.server, err = b.startServer(b.server.home); err != nil {
		return err
	}
	for deadline := began.Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		found, err := b.server.client.Sessions(b.ctx)
		if err != nil {
			return err
		}
		running := 0
		for _, s := range found {
			if s.State == terminal.StateRunning && s.Source == "owner" {
				running++
			}
		}
		if running == sessions {
			break
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%d of %d sessions found", running, sessions)
		}
	}
	took := time.Since(began)
	b.rows = append(b.rows, row{
		what: fmt.Sprintf("server restart to %d sessions found", sessions), ours: shown(took),
		bar: "<= 2.0 s", met: took <= 2*time.Second,
	})
	return nil
}

// ownBackend reaches the server's sessions beside it.
func (s *server) ownBackend(b *bench) terminal.Backend {
	dirs := s.dirs()
	return ptyowner.New(ptyowner.Options{
		Data: dirs.Data, Sessions: filepath.Join(dirs.Data, "sessions"), Runtime: dirs.Runtime,
		Executable: func() (string, error) { return b.binary, nil },
	})
}
