package workspace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"middleman/internal/git"
	"middleman/internal/plainfile"
	"middleman/internal/plaintext"
	"middleman/workspace/basedir"
	"middleman/workspace/look"
	"middleman/workspace/model"
)

// Options says where workspaces are made and how their branches are named.
type Options struct {
	// Base is the absolute path of the directory that holds all worktrees and
	// directories of ours. It is made with mode 0700 if it is missing.
	Base string
	// Prefix precedes the slash in the names of branches that the caller does
	// not name. "" means "middleman".
	Prefix string
	// Location is for requests that name none; "" means LocationData. Leftovers
	// are also looked for in the base directory that it names.
	Location Location
	// Hidden are directories that git cannot reach where it reads a repository in a
	// sandbox.
	Hidden []string
}

// Manager makes, inspects and deletes workspaces. It holds only its options and
// caches of facts that never change. Any number of goroutines and processes may
// use one base.
type Manager struct {
	base     string
	prefix   string
	location Location
	// keepBranches keeps every branch: none is ours to delete.
	keepBranches bool
	inspector    *look.Inspector
	deletes      *turns
	private      func(context.Context, Workspace) (Loss, error) // see Private
}

// New returns a manager. It touches nothing.
func New(o Options) *Manager {
	if o.Prefix == "" {
		o.Prefix = "middleman"
	}
	base := filepath.Clean(o.Base)
	return &Manager{base: base, prefix: o.Prefix, location: o.Location, inspector: look.New(base, o.Hidden), deletes: &turns{}}
}

// Private makes m ask holds what the private git directory of a workspace's sandboxed
// sessions has that is nowhere else. Inspect and Delete count that as they count what the
// workspace has; the caller keeps the directory where it is if there is anything, so that
// Restore brings it back with the rest. Call Private before anything else uses m.
func (m *Manager) Private(holds func(context.Context, Workspace) (Loss, error)) { m.private = holds }

// held returns what the private git directory of w has. An error wraps ErrUnknown.
func (m *Manager) held(ctx context.Context, w Workspace) (Loss, error) {
	if m.private == nil {
		return Loss{}, nil
	}
	loss, err := m.private(ctx, w)
	loss.Sandboxed = err != nil || !loss.Nothing()
	if err != nil && !errors.Is(err, ErrUnknown) {
		err = model.Unknown(fmt.Errorf("what its sandbox holds: %w", err))
	}
	return loss, err
}

// Create makes the workspace that r asks for and returns its record in
// StateReady: it calls Begin and Checkout. It reports each stage to progress,
// which may be nil. After an error or a cancellation it removes directory,
// branch and git's entry, unless a program or the user wrote into the directory
// meanwhile.
func (m *Manager) Create(ctx context.Context, r CreateRequest, progress Progress) (Workspace, error) {
	w, err := m.Begin(ctx, r, progress)
	if err != nil {
		return Workspace{}, err
	}
	made, err := m.Checkout(ctx, r, w, progress)
	if err != nil {
		undo := func(ctx context.Context) error { return m.Undo(ctx, w, false) }
		return Workspace{}, model.Unwind(ctx, []func(context.Context) error{undo}, err)
	}
	made.State = StateReady
	progress.OrSilent().Done("ready", made.Root)
	return made, nil
}

// Begin makes the workspace without its files, so it takes no longer for a
// large repository. It returns the record in StateCreating. Subdir is then the
// user's current directory, which the checkout may not have. After an error or
// a cancellation nothing is left behind.
func (m *Manager) Begin(ctx context.Context, r CreateRequest, progress Progress) (_ Workspace, err error) {
	defer model.Containing(r.Name, &err)
	report := progress.OrSilent()
	if err := report.Stage("validate", func() error { return m.checkRequest(r) }); err != nil {
		return Workspace{}, err
	}
	w := Workspace{ID: r.ID, Name: r.Name, Mode: r.Mode, State: StateCreating, Ephemeral: r.Ephemeral, CreatedAt: time.Now().UTC(), ParentSession: r.ParentSession}
	if r.Parent != nil {
		w.Parent = r.Parent.ID
	}
	switch r.Mode {
	case ModeInPlace:
		w.Root = plainfile.Full(filepath.Clean(r.Directory))
		m.finder().FillInPlace(ctx, &w)
	case ModeDirectory:
		w.Root, err = m.createDirectory(r.ID, report)
	default:
		err = m.createWorktree(ctx, r, &w, report)
	}
	if err != nil {
		return Workspace{}, fmt.Errorf("create workspace %s: %w", r.Name, err)
	}
	return w, nil
}

// Locate returns r with the repository that it is for, so that Begin need not
// find that again, and with its location, and the repository's top and common git directory. These are
// "" for a directory of ours, and for the user's directory in no repository.
func (m *Manager) Locate(ctx context.Context, r CreateRequest) (located CreateRequest, top, gitDir string, err error) {
	if r.Mode == ModeDirectory {
		return r, "", "", nil
	}
	location, err := m.located(ctx, r)
	if err != nil {
		return r, "", "", err
	}
	if location.isPath() && r.Mode == ModeWorktree && r.Parent == nil {
		r.usual = r.usual || r.Location == ""
		r.Location = location
	}
	if r.Parent != nil {
		if err := checkWorker(r); err != nil {
			return r, "", "", err
		}
	}
	repo, err := locate(ctx, r)
	switch {
	case err == nil:
		r.repository = repo
	case r.Mode == ModeInPlace && ctx.Err() == nil:
		err = nil
	default:
		return r, "", "", err
	}
	return r, repo.Main, repo.Here.CommonDir, nil
}

// checkRequest refuses a bad request without touching anything.
func (m *Manager) checkRequest(r CreateRequest) error {
	if err := model.CheckID(r.ID); err != nil {
		return err
	}
	if slug, err := Slug(r.Name); err != nil {
		return err
	} else if slug != r.Name {
		return fmt.Errorf("name %q: must be %q: %w", r.Name, slug, ErrBadName)
	}
	if err := r.Location.check(r); err != nil {
		return err
	}
	switch r.Mode {
	case ModeWorktree:
		branch := cmp.Or(r.Branch, r.Name)
		if err := plainfile.CheckPath(branch); err != nil { // git keeps a branch in a file of its name
			return fmt.Errorf("branch %s: %w: %w", plaintext.Quoted(branch), err, ErrBadName)
		}
	case ModeDirectory, ModeInPlace:
		if r.Base != "" || r.Branch != "" {
			return fmt.Errorf("mode %s has no branch and no base: %w", r.Mode, ErrBadRequest)
		}
	default:
		return fmt.Errorf("mode %q: it must be worktree, directory or in-place: %w", r.Mode, ErrBadRequest)
	}
	if r.Parent != nil {
		return checkWorker(r)
	}
	if r.Mode == ModeDirectory {
		return nil
	}
	return git.CheckDirectory(r.Directory)
}

func (m *Manager) createDirectory(id string, report Progress) (string, error) {
	var root string
	err := report.Stage("add", func() error {
		base, err := basedir.Make(m.base)
		if err != nil {
			return err
		}
		defer base.Close()
		root = filepath.Join(base.Name(), id)
		return basedir.MakeDir(base, id)
	})
	return root, err
}
