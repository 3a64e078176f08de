package app

import (
	"context"
	"slices"

	"middleman/internal/api"
	"middleman/internal/dirid"
	"middleman/internal/fault"
	"middleman/internal/repoconfig"
	"middleman/internal/sandbox"
	"middleman/internal/store"
	"middleman/workspace"
)

// MergeWorkspace merges a workspace's commits into a branch of its repository,
// after the check of the repository's configuration. A dry run runs no check and
// moves no branch.
func (s *App) MergeWorkspace(ctx context.Context, id string, in api.Merge) (api.Merged, error) {
	return finish(ctx, s, func(ctx context.Context) (api.Merged, error) { return s.merge(ctx, id, in) })
}

func (s *App) merge(ctx context.Context, id string, in api.Merge) (out api.Merged, err error) {
	w, release, err := s.claim(ctx, id)
	if err != nil {
		return out, err
	}
	defer release()
	if _, err := s.bring(ctx, w); err != nil {
		return out, err
	}
	r := workspace.MergeRequest{
		Into: in.Into, Strategy: workspace.Strategy(in.Strategy), Message: in.Message, Filters: in.Filters, DryRun: true,
	}
	// First without an effect: what will be refused needs no check.
	if out.Merged, err = s.Workspaces.Merge(ctx, w, r); err != nil {
		return out, err
	}
	out.DryRun = in.DryRun
	if out.Commits == 0 {
		return out, nil
	}
	leave, err := s.keepStill(ctx, id, out.Checkout)
	if err != nil {
		return out, err
	}
	defer leave()
	c, warning, err := s.checkOf(ctx, w)
	if err != nil {
		return out, err
	}
	if out.Check = c.Check; warning != "" {
		out.Warnings = append(out.Warnings, warning)
	}
	if in.DryRun {
		return out, nil
	}
	if len(c.Check) > 0 {
		if err := s.runCommands(ctx, w, "check", c.Check, c); err != nil {
			return out, err
		}
	}
	fault.Here("merge/checked")
	r.DryRun, r.Head = false, out.Head
	err = s.stages(ctx, id).Detailed("merge", func() (string, error) {
		out.Merged, err = s.Workspaces.Merge(ctx, w, r)
		return out.Branch + " into " + out.Into, err
	})
	return out, err
}

// checkOf returns the configuration whose check runs before w is merged: the one
// in its checkout if the user approved it, else the one that w was made with. The
// warning says why a check of the checkout does not run.
func (s *App) checkOf(ctx context.Context, w workspace.Workspace) (_ repoconfig.Config, warning string, err error) {
	now, err := s.configOf(ctx, w)
	if err != nil || now.usable() {
		return now.config, "", err
	}
	then, ok, err := s.agreed(ctx, w)
	if err != nil || ok {
		return then, "", err
	}
	switch {
	case now.content == nil:
		return then, "", nil
	case now.wrong != nil:
		return then, "no check ran, because " + repoconfig.Name + " is not used: " + now.wrong.Error(), nil
	}
	return then, "no check ran: " + repoconfig.Name + " is not trusted; `middleman trust " + s.label(ctx, w) + "` shows it, and asks whether you agree", nil
}

// PushWorkspace pushes a workspace's branch to a remote. A dry run contacts none.
func (s *App) PushWorkspace(ctx context.Context, id string, in api.Push) (out api.Pushed, err error) {
	return finish(ctx, s, func(ctx context.Context) (out api.Pushed, err error) {
		w, release, err := s.claim(ctx, id)
		if err != nil {
			return out, err
		}
		defer release()
		if _, err := s.bring(ctx, w); err != nil {
			return out, err
		}
		out.DryRun = in.DryRun
		out.Pushed, err = s.Workspaces.Push(ctx, w, workspace.PushRequest{Remote: in.Remote, Filters: in.Filters, Agent: in.Agent, ForceWithLease: in.ForceWithLease, DryRun: in.DryRun})
		return out, err
	})
}

// unknownLeft refuses a merge into a workspace in which sandboxed programs ran before there
// was a record of that, where there is only Landlock: what these have left cannot be found.
func (s *App) unknownLeft(ctx context.Context, checkout string) error {
	if s.Support().Bubblewrap != "" {
		return nil
	}
	list, _, err := s.Store.Workspaces(ctx, store.Page{Limit: -1})
	if err != nil {
		return err
	}
	known, err := s.Store.Exposed(ctx)
	if err != nil {
		return err
	}
	for _, w := range list {
		root := canonical(w.Root)
		if w.Root == "" || !s.hasQuarantine(w) || !sandbox.Within(checkout, root) {
			continue
		}
		which := dirid.Of(root)
		if slices.ContainsFunc(known, func(e store.Exposed) bool { return e.Path == root || which != "" && e.Which == which }) {
			continue
		}
		return Refusef(api.CodeBusy, "%s would get the merged files, and what the sandboxed programs of workspace %s have left under Landlock cannot be found: it could replace directories there while git writes; merge with git, once nothing of it runs",
			checkout, s.label(ctx, w))
	}
	return nil
}
