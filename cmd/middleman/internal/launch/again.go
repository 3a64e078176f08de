package launch

import (
	"context"
	"errors"
	"fmt"

	"middleman/cmd/middleman/internal/catalog"
	"middleman/cmd/middleman/internal/sessions"
	"middleman/cmd/middleman/internal/workspaces"
	"middleman/internal/api"
	"middleman/internal/client"
	"middleman/internal/plaintext"
	"middleman/workspace"
)

// createOrAttach comes back to the workspace that in names, or makes it.
func (c commands) createOrAttach(ctx context.Context, in api.NewWorkspace, detached bool) error {
	server, err := c.Server(ctx)
	if err != nil {
		return err
	}
	defer server.Close()
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

// existing returns the workspace that has the name in in, if there is one. It
// must be what in asks for: of the same kind, and of the same repository.
func existing(ctx context.Context, server *client.Client, in api.NewWorkspace) (w api.Workspace, found bool, err error) {
	name, _, err := workspace.Named(in.Name)
	if err != nil {
		return w, false, err
	}
	list, err := server.Workspaces(ctx)
	if err != nil {
		return w, false, err
	}
	for _, w = range list {
		if w.Name == name {
			return w, true, checkSame(ctx, w, in)
		}
	}
	return api.Workspace{}, false, nil
}

// checkSame returns an error unless w is what in asks for.
func checkSame(ctx context.Context, w api.Workspace, in api.NewWorkspace) error {
	if w.Mode != in.Mode {
		return fmt.Errorf("there is a workspace %s already, of mode %s and not %s: choose another name", w.Name, w.Mode, in.Mode)
	}
	if in.Mode == workspace.ModeDirectory {
		return nil
	}
	_, here, err := workspace.Checkout(ctx, in.Directory)
	if err != nil && (in.Mode == workspace.ModeWorktree || !errors.Is(err, workspace.ErrNotRepository)) {
		return err
	}
	there := ""
	if w.Repository != "" {
		_, there, err = workspace.Checkout(ctx, w.Repository)
	}
	if err != nil || here != there {
		return fmt.Errorf("there is a workspace %s already, of %s and not of the repository here: `middleman attach %s` goes there; choose another name for a new one",
			w.Name, plaintext.Line(w.Repository), w.Name)
	}
	return nil
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
	list, err := catalog.OfServer(ctx, server)
	if err != nil {
		return err
	}
	s, others, live, err := catalog.LastUsed(c.CLI, list, w)
	switch {
	case err != nil:
		return err
	case live && in.Session != nil && (len(in.Session.Command) > 0 || in.Session.Profile != ""):
		fmt.Fprintf(c.Errs, "middleman: %s runs already: the command was not started; `middleman run %s -- COMMAND` starts one more\n", catalog.Label(s), w.Name)
	case !live && in.Session != nil:
		if s, err = server.StartSession(ctx, w.ID, *in.Session); err != nil {
			return err
		}
		workspaces.ExplainHost(c.CLI, catalog.Label(s), s.Note)
		live = true
	}
	if created.Session = nil; live {
		created.Session = &s
	}
	return c.printCreated(created, func() error {
		if detached || !live {
			fmt.Fprintln(c.Out, w.Name)
			return nil
		}
		sessions.TellOthers(c.CLI, s, others)
		return sessions.Attach(ctx, c.CLI, s)
	})
}
