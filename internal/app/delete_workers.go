package app

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"middleman/internal/api"
	"middleman/internal/store"
	"middleman/workspace"
)

// blockWorkers blocks launches in the workspaces of a workspace's workers, and
// of their workers, until leave is called. It returns these, deepest first.
// Launches in the workspace itself must be blocked, so that none is added.
func (s *App) blockWorkers(ctx context.Context, id string) (found []workspace.Workspace, leave func(), err error) {
	var gates []func()
	leave = func() {
		for _, open := range gates {
			open()
		}
	}
	ids := []string{id}
	for len(ids) > 0 {
		// List anew for each parent: until it was blocked, it could get workers.
		all, _, err := s.Store.Workspaces(ctx, store.Page{Limit: -1})
		if err != nil {
			leave()
			return nil, nil, err
		}
		parent := ids[0]
		ids = ids[1:]
		for _, w := range all {
			if w.Parent == parent {
				gates = append(gates, s.gates.block(w.ID))
				found, ids = append(found, w), append(ids, w.ID)
			}
		}
	}
	slices.Reverse(found) // each came after its parent
	return found, leave, nil
}

// deleteWithWorkers deletes a workspace whose workers have workspaces in it.
// Without c.Workers it refuses, whatever these hold. With it, each of them is
// deleted first, with the same procedure and consents. If any of them would be
// refused, nothing is deleted.
func (s *App) deleteWithWorkers(ctx context.Context, id string, inner []workspace.Workspace, c Consent, dryRun bool) (api.Deleted, error) {
	if !dryRun && !c.Workers {
		return api.Deleted{}, s.refuseWorkers(ctx, id, inner)
	}
	if !dryRun {
		if err := s.refuseAny(ctx, id, inner, c); err != nil {
			return api.Deleted{}, err
		}
	}
	var gone []api.Deleted
	for _, w := range inner {
		out, err := s.deleteOne(ctx, w.ID, c, dryRun)
		if err != nil {
			return api.Deleted{}, err
		}
		gone = append(gone, out)
	}
	out, err := s.deleteOne(ctx, id, c, dryRun)
	if err == nil && dryRun {
		out.Lost = withoutWorkers(out.Lost, out.Workspace.Root, inner)
	}
	out.Workers = gone
	return out, err
}

// refuseWorkers returns a *Refusal that names the workers whose workspaces lie
// in workspace id.
func (s *App) refuseWorkers(ctx context.Context, id string, inner []workspace.Workspace) error {
	w, err := s.Store.Workspace(ctx, id)
	if err != nil {
		return err
	}
	list := s.workers.list(func(t store.Tombstone) bool {
		return slices.ContainsFunc(inner, func(w workspace.Workspace) bool { return w.ID == t.Workspace })
	})
	views, err := s.workerViews(ctx, list)
	if err != nil {
		return err
	}
	names := make([]string, len(inner))
	for i, w := range inner {
		names[i] = s.label(ctx, w)
	}
	slices.Sort(names)
	p := Refusef(api.CodeHasWorkers, "workspace %s has workers with workspaces of their own in it: %s", s.label(ctx, w), strings.Join(names, ", "))
	p.Workers = views
	return p
}

// refuseAny inspects a workspace and all workspaces in it. It returns a *Refusal
// with everything that c does not cover, each item named by its workspace.
func (s *App) refuseAny(ctx context.Context, id string, inner []workspace.Workspace, c Consent) error {
	var all *Refusal
	for _, each := range append(slices.Clone(inner), workspace.Workspace{ID: id}) {
		d, err := s.inspect(ctx, each.ID)
		if err != nil {
			return err
		}
		if d.unknown != nil && !c.DiscardWork {
			return d.unknown
		}
		d.loss = withoutWorkers(d.loss, d.workspace.Root, inner)
		refused := d.refusal(c)
		if refused == nil {
			continue
		}
		p := s.Explain(refused)
		if p.Lost != nil {
			named := p.Lost.Named(d.label)
			p.Lost = &named
		}
		if all == nil {
			all = p
			continue
		}
		all.Detail += "; " + p.Detail
		all.Sessions = append(all.Sessions, p.Sessions...)
		switch {
		case all.Lost == nil:
			all.Lost, all.Code = p.Lost, p.Code
		case p.Lost != nil:
			joined := all.Lost.Join(*p.Lost)
			all.Lost = &joined
		}
	}
	if all == nil {
		return nil
	}
	return all
}

// withoutWorkers returns a loss without the worktrees of workers, which are
// deleted before.
func withoutWorkers(l workspace.Loss, root string, inner []workspace.Workspace) workspace.Loss {
	l.Untracked = slices.DeleteFunc(slices.Clone(l.Untracked), func(name string) bool {
		return slices.ContainsFunc(inner, func(w workspace.Workspace) bool {
			below, err := filepath.Rel(root, w.Root)
			return err == nil && strings.HasPrefix(name, filepath.ToSlash(below)+"/ (")
		})
	})
	return l
}

// besideParent calls restore. If row is a worker's workspace, the parent's
// workspace, in which it lies, cannot be deleted meanwhile.
func (s *App) besideParent(row workspace.Workspace, restore func() error) error {
	if row.Parent == "" {
		return restore()
	}
	leave, ok := s.gates.launch(row.Parent)
	if !ok {
		return Refusef(api.CodeBusy, "the parent's workspace is being deleted")
	}
	defer leave()
	return restore()
}
