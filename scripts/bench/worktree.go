//go:build linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"middleman/internal/api"
	"middleman/workspace"
)

// worktree is how long a workspace takes beside the git command that is in it.
func (b *bench) worktree() error {
	repository := filepath.Join(b.dir, "repository")
	if err := b.makeRepository(repository, b.pick(3000, 1000)); err != nil {
		return err
	}
	var ours, git []time.Duration
	for i := range b.pick(12, 5) {
		began := time.Now()
		created, err := b.server.client.CreateWorkspace(b.ctx, api.NewWorkspace{Mode: workspace.ModeWorktree, Directory: repository}, nil)
		if err != nil {
			return err
		}
		ours = append(ours, time.Since(began))
		if err := b.server.removeWorkspace(b.ctx, created.Workspace.ID); err != nil {
			return err
		}
		path := filepath.Join(b.dir, fmt.Sprintf("tree%d", i))
		began = time.Now()
		if err := b.git(repository, "worktree", "add", "-q", "-b", filepath.Base(path), path); err != nil {
			return err
		}
		git = append(git, time.Since(began))
		if err := b.git(repository, "worktree", "remove", path); err != nil {
			return err
		}
	}
	b.atMost("worktree workspace", percentile(ours, 50), percentile(git, 50), "git worktree add", 1.15)
	return nil
}

// makeRepository makes a repository with one commit of many files.
func (b *bench) makeRepository(dir string, files int) error {
	for i := range files {
		path := filepath.Join(dir, fmt.Sprintf("d%d/f%d.txt", i%50, i))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, colouredLog(2000), 0o644); err != nil {
			return err
		}
	}
	for _, args := range [][]string{
		{"init", "-q", "-b", "main"}, {"add", "."},
		{"-c", "user.name=bench", "-c", "user.email=bench@localhost", "commit", "-q", "-m", "files"},
	} {
		if err := b.git(dir, args...); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) git(dir string, args ...string) error {
	cmd := exec.CommandContext(b.ctx, "git", args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("git %s: %w: %s", args[0], err, out)
	}
	return nil
}
