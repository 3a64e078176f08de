package launch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"middleman/cmd/middleman/internal/catalog"
	"middleman/cmd/middleman/internal/sessions"
	"middleman/cmd/middleman/internal/workspaces"
	"middleman/internal/api"
	"middleman/internal/client"
	"middleman/workspace"
)

// createOrAttach comes back to the workspace that in names, or makes it.
func (c commands) createOrAttach(ctx context.Context, in api.NewWorkspace, detached bool) error {
	server, err := c.Server(ctx)
	if err != nil {
		return err
	}
	defer server.Close()
	if c.Runtime != "" {
		return c.createOrAttachThere(ctx, server, in, detached)
	}
	const tries = 3 // another process may make it, or delete it, meanwhile
	for n := 1; ; n++ {
		w, found, err := existing(ctx, server, in)
		if err != nil {
			return err
		}
		if found {
			err = c.comeBack(ctx, server, w, in, detached)
		} else {
			err = c.create(ctx, in, detached)
		}
		p, refused := errors.AsType[*api.Problem](err)
		if n == tries || !refused || p.Code != api.CodeNameTaken && p.Code != api.CodeNotFound {
			return err
		}
	}
}

// createOrAttachThere is createOrAttach on a runtime. That machine alone knows of which
// repository a directory is, so it is asked to make the workspace first.
func (c commands) createOrAttachThere(ctx context.Context, server *client.Client, in api.NewWorkspace, detached bool) error {
	err := c.create(ctx, in, detached)
	if p, refused := errors.AsType[*api.Problem](err); !refused || p.Code != api.CodeNameTaken {
		return err
	}
	list, listErr := server.Workspaces(ctx)
	if listErr != nil {
		return errors.Join(err, listErr)
	}
	w, foundErr := taken(list, in)
	if foundErr != nil {
		return foundErr
	}
	w.Label = c.Target(w.Label)
	return c.comeBack(ctx, server, w, in, detached)
}

// taken returns the workspace of a runtime because of which it refuses the name in in.
func taken(list []api.Workspace, in api.NewWorkspace) (api.Workspace, error) {
	name, _, err := workspace.Named(in.Name)
	if err != nil {
		return api.Workspace{}, err
	}
	list = slices.DeleteFunc(list, func(w api.Workspace) bool { return w.Name != name || w.Mode != in.Mode })
	if below := strings.TrimPrefix(in.Directory, "~"); len(list) > 1 {
		list = slices.DeleteFunc(list, func(w api.Workspace) bool { return !strings.HasSuffix(w.Repository, below) })
	}
	if len(list) != 1 {
		return api.Workspace{}, fmt.Errorf("the name %s is taken there, and it is not clear by which workspace: `middleman attach` takes what `middleman ls` lists", name)
	}
	return list[0], nil
}

// existing returns the workspace that has the name in in, if there is one. It
// must be what in asks for: of the same kind, and of the same repository, which
// NAME@REPOSITORY names.
func existing(ctx context.Context, server *client.Client, in api.NewWorkspace) (w api.Workspace, found bool, err error) {
	list, err := server.Workspaces(ctx)
	if err != nil {
		return w, false, err
	}
	if strings.Contains(in.Name, "@") && !strings.Contains(in.Name, "/") {
		w, err = catalog.List{Workspaces: list}.Exact().Workspace(in.Name)
		return w, err == nil, err
	}
	name, _, err := workspace.Named(in.Name)
	if err != nil {
		return w, false, err
	}
	here := ""
	if in.Mode != workspace.ModeDirectory {
		_, here, err = workspace.Checkout(ctx, in.Directory)
		if err != nil && (in.Mode == workspace.ModeWorktree || !errors.Is(err, workspace.ErrNotRepository)) {
			return w, false, err
		}
	}
	for _, w := range list {
		if w.Name != name || !isOf(ctx, w, here) {
			continue
		}
		if w.Mode != in.Mode {
			return w, false, fmt.Errorf("there is a workspace %s already, of mode %s and not %s: choose another name", w.Label, w.Mode, in.Mode)
		}
		return w, true, nil
	}
	return api.Workspace{}, false, nil
}

// isOf reports whether w is of the repository with that git directory, "" for
// none.
func isOf(ctx context.Context, w api.Workspace, gitDir string) bool {
	if w.Repository == "" || gitDir == "" {
		return w.Repository == gitDir
	}
	_, there, err := workspace.Checkout(ctx, w.Repository)
	return err == nil && there == gitDir
}

// comeBack attaches to the session of w that was last used, or where none runs
// to a new one.
func (c commands) comeBack(ctx context.Context, server *client.Client, w api.Workspace, in api.NewWorkspace, detached bool) error {
	progress := c.Progress("waiting for")
	created, err := server.AwaitWorkspace(ctx, w, progress.Workspace)
	progress.End()
	if err != nil {
		return progress.Making(err)
	}
	created = catalog.OnRuntime(c.CLI, created)
	list, err := catalog.OfServer(ctx, server)
	if err != nil {
		return err
	}
	s, others, live, err := catalog.LastUsed(c.CLI, list, w)
	switch {
	case err != nil:
		return err
	case live && in.Session != nil && (len(in.Session.Command) > 0 || in.Session.Profile != ""):
		fmt.Fprintf(c.Errs, "middleman: %s runs already: the command was not started; `middleman run %s -- COMMAND` starts one more\n", catalog.Label(s), w.Label)
	case !live && in.Session != nil:
		if err := c.nameBundle(ctx, server, in.Session); err != nil {
			return err
		}
		if s, err = server.StartSession(ctx, w.ID, *in.Session); err != nil {
			return err
		}
		s.WorkspaceName = c.Target(s.WorkspaceName)
		workspaces.ExplainHost(c.CLI, catalog.Label(s), s.Note)
		live = true
	}
	if created.Session = nil; live {
		created.Session = &s
	}
	return c.printCreated(created, func() error {
		if detached || !live {
			fmt.Fprintln(c.Out, w.Label)
			return nil
		}
		sessions.TellOthers(c.CLI, s, others)
		return sessions.Attach(ctx, c.CLI, s)
	})
}
