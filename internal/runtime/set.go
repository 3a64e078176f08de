package runtime

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"middleman/internal/api"
	"middleman/internal/store"
)

// ErrNotFound: there is no runtime with that name.
var ErrNotFound = errors.New("there is no such runtime; `middleman runtime list` lists them")

// Store keeps configurations. Its Runtimes are in the order of their names.
type Store interface {
	Runtimes(ctx context.Context) ([]store.Runtime, error)
	AddRuntime(ctx context.Context, r store.Runtime) error
	RemoveRuntime(ctx context.Context, name string) error
}

// Set has the remotes of a hub by name. The store alone says which there are; the
// set has the connections to those that were used. Its methods are safe for
// concurrent use.
type Set struct {
	store Store
	ssh   string
	log   *slog.Logger

	mu      sync.Mutex // guards the fields below
	remotes map[string]*Remote
	closed  bool

	follower follower
}

// NewSet returns a set. ssh is the program for ssh addresses. publish gets the events
// of remotes, see Follow; it must not block. NewSet does no I/O.
func NewSet(store Store, ssh string, log *slog.Logger, publish func(api.Event)) *Set {
	return &Set{
		store: store, ssh: ssh, log: log, remotes: map[string]*Remote{},
		follower: follower{publish: publish, streams: map[string]context.CancelFunc{}},
	}
}

// List returns all remotes, in the order of their names. It asks none of them.
func (s *Set) List(ctx context.Context) ([]*Remote, error) {
	configs, err := s.store.Runtimes(ctx)
	if err != nil {
		return nil, err
	}
	var all []*Remote
	for _, c := range configs {
		r, err := s.remote(Config(c))
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return all, nil
}

// Get returns the remote with that name, or ErrNotFound.
func (s *Set) Get(ctx context.Context, name string) (*Remote, error) {
	configs, err := s.store.Runtimes(ctx)
	if err != nil {
		return nil, err
	}
	for _, c := range configs {
		if c.Name == name {
			return s.remote(Config(c))
		}
	}
	return nil, fmt.Errorf("runtime %q: %w", name, ErrNotFound)
}

// remote returns the remote for a configuration, and makes it if there is none.
func (s *Set) remote(c Config) (*Remote, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	d, err := newDialer(c, s.ssh) // it does no I/O
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	old := s.remotes[c.Name]
	if old != nil && old.config == c {
		s.mu.Unlock()
		return old, nil
	}
	if s.closed {
		s.mu.Unlock()
		return nil, errors.New("the server stops")
	}
	r := newRemote(c, d, s.log, s.follower.changed)
	s.remotes[c.Name] = r
	s.mu.Unlock()
	if old != nil {
		old.close()
	}
	return r, nil
}

// Add records a remote. The store refuses a name that is taken.
func (s *Set) Add(ctx context.Context, c Config) (*Remote, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	if err := s.store.AddRuntime(ctx, store.Runtime(c)); err != nil {
		return nil, err
	}
	r, err := s.Get(ctx, c.Name)
	if err == nil {
		s.follower.added(r)
	}
	return r, err
}

// Remove forgets a remote, and closes the connections to it. Nothing changes
// there.
func (s *Set) Remove(ctx context.Context, name string) error {
	if err := s.store.RemoveRuntime(ctx, name); err != nil {
		return err
	}
	s.mu.Lock()
	r := s.remotes[name]
	delete(s.remotes, name)
	s.mu.Unlock()
	s.follower.removed(name)
	if r != nil {
		r.close()
	}
	return nil
}

// Close closes all connections. No remote can be got afterwards.
func (s *Set) Close() {
	s.follower.close()
	s.mu.Lock()
	remotes := s.remotes
	s.remotes, s.closed = map[string]*Remote{}, true
	s.mu.Unlock()
	for _, r := range remotes {
		r.close()
	}
}
