package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"middleman/internal/api"
	"middleman/internal/audit"
	"middleman/internal/plainfile"
	"middleman/internal/repoconfig"
	"middleman/internal/store"
	"middleman/workspace"
)

// repoConfig is the .middleman.toml of a checkout, read once. Everything uses
// these bytes; the file is not read again.
type repoConfig struct {
	gitDir  string // of the repository; trust is recorded per repository
	content []byte // nil if there is no file
	hash    string
	config  repoconfig.Config
	wrong   error // why the file is invalid, trusted or not
	trusted bool
}

// usable reports whether the configuration is trusted and valid.
func (c repoConfig) usable() bool { return c.trusted && c.wrong == nil }

// readConfig reads the configuration of the checkout at top.
func (s *App) readConfig(ctx context.Context, gitDir, top string) (repoConfig, error) {
	c := repoConfig{gitDir: gitDir}
	content, err := repoconfig.Read(top)
	if errors.Is(err, plainfile.ErrRefused) {
		c.content, c.wrong = []byte{}, err
		return c, nil
	}
	if err != nil || content == nil {
		return c, err
	}
	c.content, c.hash = content, repoconfig.Hash(content)
	c.config, c.wrong = repoconfig.Parse(content)
	_, err = s.Store.Trusted(ctx, gitDir, c.hash)
	c.trusted = err == nil
	if errors.Is(err, store.ErrNotFound) {
		err = nil
	}
	return c, err
}

// configOf reads the configuration in w's own checkout, because its commands
// would run there. A workspace that is no worktree has none.
func (s *App) configOf(ctx context.Context, w workspace.Workspace) (repoConfig, error) {
	if w.Mode != workspace.ModeWorktree {
		return repoConfig{}, nil
	}
	return s.readConfig(ctx, w.GitDir, w.Root)
}

// agreed returns the configuration that w was made with; ok is false if there
// is none or the user no longer trusts it.
func (s *App) agreed(ctx context.Context, w workspace.Workspace) (c repoconfig.Config, ok bool, err error) {
	if w.ConfigHash == "" {
		return c, false, nil
	}
	content, err := s.Store.Trusted(ctx, w.GitDir, w.ConfigHash)
	if errors.Is(err, store.ErrNotFound) {
		return c, false, nil
	}
	if err != nil {
		return c, false, err
	}
	if repoconfig.Hash(content) != w.ConfigHash { // the row was changed by another program
		return c, false, nil
	}
	c, err = repoconfig.Parse(content)
	return c, err == nil, err
}

// repoEnv returns the environment variables from the configuration that w was
// made with.
func (s *App) repoEnv(ctx context.Context, w workspace.Workspace) ([]string, error) {
	c, ok, err := s.agreed(ctx, w)
	if err != nil || !ok {
		return nil, err
	}
	return c.Environ(), nil
}

// trust records that the user trusts c. shown is the hash of what the user saw;
// if c has another, trust refuses.
func (s *App) trust(ctx context.Context, c repoConfig, shown string) error {
	audit.Note(ctx, "repository "+c.gitDir+" hash "+shown)
	switch {
	case c.content == nil:
		return Refusef(api.CodeNotFound, "the checkout has no %s", repoconfig.Name)
	case c.wrong != nil:
		return Refusef(api.CodeBadConfig, "%s cannot be used: %s", repoconfig.Name, c.wrong)
	case c.hash != shown:
		return Refusef(api.CodeConfigChanged,
			"%s does not have the hash %q, so it was not agreed to: read it again, and agree to its present hash", repoconfig.Name, shown)
	}
	return s.Store.Trust(ctx, store.TrustedConfig{GitDir: c.gitDir, Hash: c.hash, Content: c.content, ApprovedAt: time.Now().UTC()})
}

// configView returns a configuration in the form for clients.
func configView(repository string, c repoConfig) api.RepoConfig {
	v := api.RepoConfig{
		Repository: repository, File: repoconfig.Name, Present: c.content != nil, Hash: c.hash, Content: string(c.content), Trusted: c.trusted,
		Setup: c.config.Setup, Teardown: c.config.Teardown, Check: c.config.Check, Copy: c.config.Copy, Ports: c.config.Ports, Env: c.config.Env,
	}
	for name := range c.config.Profiles {
		v.Profiles = append(v.Profiles, name)
	}
	if c.wrong != nil {
		v.Problem = c.wrong.Error()
	}
	return v
}

// worktreeConfig reads the configuration of the workspace with that id. It
// refuses a workspace that is no worktree.
func (s *App) worktreeConfig(ctx context.Context, id string) (w workspace.Workspace, c repoConfig, err error) {
	if w, err = s.Store.Workspace(ctx, id); err != nil {
		return w, c, err
	}
	if w.Mode != workspace.ModeWorktree || w.GitDir == "" {
		return w, c, &Refusal{Code: api.CodeNotRepository, Conflict: true,
			Detail: fmt.Sprintf("workspace %s is not a worktree, so it has no configuration", w.Name)}
	}
	c, err = s.configOf(ctx, w)
	return w, c, err
}

// configIn reads the configuration of the checkout that contains dir. top is the
// checkout's top directory, "" for a bare repository.
func (s *App) configIn(ctx context.Context, dir string) (top string, c repoConfig, err error) {
	top, gitDir, err := workspace.Checkout(ctx, home(dir))
	if err != nil {
		return "", c, err
	}
	if top == "" {
		return "", repoConfig{gitDir: gitDir}, nil // a bare repository has no checkout
	}
	c, err = s.readConfig(ctx, gitDir, top)
	return top, c, err
}
