//go:build linux

package main

import (
	"fmt"
	"path/filepath"
	"time"

	"middleman/internal/api"
	"middleman/workspace"
)

const (
	listCold = time.Second
	listWarm = 50 * time.Millisecond
)

// list is how long a list of many workspaces with status takes: from the start
// of a server, and of one that runs. It leaves the workspaces, and another
// server.
func (b *bench) list() error {
	many := b.pick(200, 40)
	if err := b.makeWorkspaces(many); err != nil {
		return err
	}
	began := time.Now()
	if _, err := b.listStatus(many, true); err != nil {
		return err
	}
	fresh := time.Since(began)
	b.server.stop()
	began = time.Now()
	var err error
	if b.server, err = b.startServer(b.server.home); err != nil {
		return err
	}
	known, err := b.listStatus(many, false)
	if err != nil {
		return err
	}
	cold := time.Since(began)
	if known != many {
		return fmt.Errorf("a server that starts knows %d of %d statuses", known, many)
	}
	var warm []time.Duration
	for range b.pick(50, 20) {
		began := time.Now()
		if _, err := b.listStatus(many, false); err != nil {
			return err
		}
		warm = append(warm, time.Since(began))
	}
	what := fmt.Sprintf("list %d with status, ", many)
	b.rows = append(b.rows,
		row{what: what + "cold start", ours: shown(cold), bar: "<= 1.0 s", met: cold <= listCold},
		row{what: what + "warm", ours: shown(percentile(warm, 50)), bar: "<= 50 ms", met: percentile(warm, 50) <= listWarm},
		row{what: what + "each looked at", ours: shown(fresh)},
	)
	return nil
}

// makeWorkspaces makes worktrees of four repositories.
func (b *bench) makeWorkspaces(many int) error {
	var repositories []string
	for i := range 4 {
		dir := filepath.Join(b.dir, fmt.Sprintf("listed%d", i))
		if err := b.makeRepository(dir, 100); err != nil {
			return err
		}
		repositories = append(repositories, dir)
	}
	for i := range many {
		_, err := b.server.client.CreateWorkspace(b.ctx, api.NewWorkspace{Mode: workspace.ModeWorktree, Directory: repositories[i%4]}, nil)
		if err != nil {
			return err
		}
	}
	return nil
}

// listStatus lists, and counts those whose files are known.
func (b *bench) listStatus(many int, fresh bool) (known int, err error) {
	list, err := b.server.client.WorkspacesStatus(b.ctx, fresh)
	for _, w := range list {
		if w.Status != nil && w.Status.Files != nil {
			known++
		}
	}
	if err == nil && len(list) < many {
		err = fmt.Errorf("%d workspaces listed, want %d", len(list), many)
	}
	return known, err
}
