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
// that runs, half of them on tmux where that is installed.
func (b *bench) restart() error {
	sessions := b.pick(500, 50)
	w, err := b.server.newWorkspace(b.ctx)
	if err != nil {
		return err
	}
	defer func() { b.server.removeWorkspace(b.ctx, w.ID) }()
	var pids []int
	for i := range sessions {
		backend := []string{"pty-owner", "auto"}[i%2]
		s, err := b.server.client.StartSession(b.ctx, w.ID, api.NewSession{Command: b.program(modeEcho, 0), Backend: backend, Size: b.size})
		if err != nil {
			return err
		}
		pid, err := b.server.ownerOf(s.ID)
		if err != nil {
			return err
		}
		pids = append(pids, pid)
	}
	b.server.stop()
	began := time.Now()
	if b.server, err = b.startServer(b.server.home); err != nil {
		return err
	}
	if err := b.awaitSessions(sessions, began.Add(time.Minute)); err != nil {
		return err
	}
	took := time.Since(began)
	b.rows = append(b.rows, row{
		what: fmt.Sprintf("server restart to %d sessions found", sessions), ours: shown(took),
		bar: "<= 2.0 s", met: took <= 2*time.Second,
	})
	time.Sleep(settle)
	server, err := usageOf(b.server.cmd.Process.Pid)
	if err != nil {
		return err
	}
	owners := 0
	for _, pid := range pids {
		u, err := usageOf(pid)
		if err != nil {
			return err
		}
		owners += u.pss
	}
	b.rows = append(b.rows, row{
		what: "what they take then, PSS",
		ours: fmt.Sprintf("server %d MiB, an owner %.2f MiB", server.pss>>10, float64(owners)/float64(sessions)/1024), met: true,
	})
	return nil
}

// awaitSessions returns once the server has found that many running sessions.
func (b *bench) awaitSessions(sessions int, deadline time.Time) error {
	for ; ; time.Sleep(5 * time.Millisecond) {
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
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%d of %d sessions found", running, sessions)
		}
	}
}

// ownBackend reaches the server's sessions beside it.
func (s *server) ownBackend(b *bench) terminal.Backend {
	dirs := s.dirs()
	return ptyowner.New(ptyowner.Options{
		Data: dirs.Data, Sessions: filepath.Join(dirs.Data, "sessions"), Runtime: dirs.Sockets(),
		Executable: func() (string, error) { return b.binary, nil },
	})
}
