package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"middleman/cmd/middleman/internal/catalog"
	"middleman/cmd/middleman/internal/cli"
	"middleman/internal/api"
	"middleman/internal/client"
	"middleman/internal/plaintext"
	"middleman/internal/server"
	"middleman/internal/store"
	"middleman/terminal"
)

// errWorkers: a worker that was waited for did not exit with 0.
var errWorkers = errors.New("not every worker exited with 0")

// listWorkers prints the workers of a session or of a workspace's sessions; of
// this session where none is named, and outside of one all. Without all, those
// that have ended and whose workspace is gone are left out.
func (c commands) listWorkers(ctx context.Context, target string, all bool) error {
	match, err := c.workersOf(ctx, target)
	if err != nil {
		return err
	}
	list, err := c.readWorkers(ctx)
	if err != nil {
		return err
	}
	shown := []api.Worker{}
	for _, w := range list {
		if match(w) && (all || w.EndedAt == nil || w.Present && w.Isolation == isolationWorktree) {
			shown = append(shown, w)
		}
	}
	return c.printWorkers(shown)
}

// workersOf tells which workers are meant.
func (c commands) workersOf(ctx context.Context, target string) (func(api.Worker) bool, error) {
	own := os.Getenv("MIDDLEMAN_SESSION")
	if target == "" && own == "" {
		return func(api.Worker) bool { return true }, nil
	}
	if target == "" {
		return func(w api.Worker) bool { return w.ParentSession == own }, nil
	}
	list, err := catalog.Read(ctx, c.CLI)
	if err != nil {
		return nil, err
	}
	if w, err := list.Workspace(target); err == nil {
		return func(k api.Worker) bool { return k.ParentWorkspace == w.ID }, nil
	}
	s, err := list.Session(target)
	return func(k api.Worker) bool { return k.ParentSession == s.ID }, err
}

// readWorkers asks the server, and without one reads the records.
func (c commands) readWorkers(ctx context.Context) ([]api.Worker, error) {
	if server, err := client.Connect(ctx, c.Dirs); err == nil {
		defer server.Close()
		return server.Workers(ctx)
	}
	records, err := store.Tombstones{Dir: c.Dirs.Workers()}.Read()
	if err != nil {
		fmt.Fprintln(c.Errs, "middleman:", err)
	}
	if len(records) == 0 {
		return nil, nil
	}
	known, err := catalog.Disk(ctx, c.CLI)
	list := make([]api.Worker, len(records))
	for i, t := range records {
		list[i] = server.WorkerView(t)
		_, err := known.Workspace(t.Workspace)
		list[i].Present = err == nil
		if s, err := known.Session(t.ID); err == nil && t.Ended == nil {
			list[i].State, list[i].Exit, list[i].Name = s.State, s.Exit, s.Name
		}
	}
	return list, err
}

func (c commands) printWorkers(list []api.Worker) error {
	return c.Print(api.Workers{Workers: list}, func() error {
		return c.workerTable(list)
	})
}

func (c commands) workerTable(list []api.Worker) error {
	t := c.Table("WORKER", "ID", "ISOLATION", "STATE", "AGE", "BRANCH", "LEFT")
	for _, w := range list {
		state := catalog.State(api.Session{State: w.State, Exit: w.Exit})
		t.Row(workerLabel(w), w.ID, w.Isolation, state, cli.Age(w.StartedAt), cli.Dash(w.Branch), workerLeft(w))
	}
	return t.Flush()
}

// workerLabel is what a worker is called on a command line.
func workerLabel(w api.Worker) string {
	if w.Isolation == isolationWorktree && w.WorkspaceName != "" {
		return w.WorkspaceName
	}
	return catalog.Label(api.Session{ID: w.ID, Name: w.Name, WorkspaceName: w.WorkspaceName})
}

// workerLeft is what an ended worker has left.
func workerLeft(w api.Worker) string {
	switch {
	case w.LeftUnknown != "":
		return "unknown: " + w.LeftUnknown
	case w.Left == nil:
		return "-"
	}
	return w.Left.Summary()
}

// waitWorkers returns when all workers of a session have ended, and lists them.
func (c commands) waitWorkers(ctx context.Context, target string) error {
	session, err := c.workersParent(ctx, target)
	if err != nil {
		return err
	}
	server, err := c.Server(ctx)
	if err != nil {
		return err
	}
	defer server.Close()
	list, err := server.WaitWorkers(ctx, session)
	if err != nil {
		return err
	}
	if err := c.printWorkers(cli.NotNil(list)); err != nil {
		return err
	}
	var bad []string
	for _, w := range list {
		if w.State != terminal.StateExited || w.Exit == nil || w.Exit.Status() != 0 {
			bad = append(bad, workerLabel(w))
		}
	}
	if len(bad) > 0 {
		return fmt.Errorf("%w: %s", errWorkers, strings.Join(bad, ", "))
	}
	return nil
}

// workersParent is the id of the session whose workers are meant.
func (c commands) workersParent(ctx context.Context, target string) (string, error) {
	if target == "" {
		return ownSession()
	}
	list, err := catalog.Read(ctx, c.CLI)
	if err != nil {
		return "", err
	}
	s, err := list.Session(target)
	return s.ID, err
}

// addFamily adds what show says of where a workspace and its sessions come
// from, and of their own workers.
func (c commands) addFamily(ctx context.Context, shown *api.Shown) error {
	all, err := c.readWorkers(ctx)
	for _, w := range all {
		isShown := slices.ContainsFunc(shown.Sessions, func(s api.Session) bool { return s.ID == w.ID })
		if isShown || w.Isolation == isolationWorktree && w.WorkspaceID == shown.Workspace.ID {
			shown.AsWorkers = append(shown.AsWorkers, w)
		}
		if slices.ContainsFunc(shown.Sessions, func(s api.Session) bool { return s.ID == w.ParentSession }) {
			shown.Workers = append(shown.Workers, w)
		}
	}
	return err
}

// familyTable prints what addFamily added.
func (c commands) familyTable(shown api.Shown, list catalog.List) error {
	if len(shown.AsWorkers) > 0 {
		fmt.Fprintln(c.Out)
		t := c.Table("AS A WORKER", "OF", "STATE", "BASE", "TIP", "LEFT")
		for _, w := range shown.AsWorkers {
			parent := w.ParentSession
			if s, err := list.Session(parent); err == nil {
				parent = catalog.Label(s)
			}
			t.Row(workerLabel(w), parent, catalog.State(api.Session{State: w.State, Exit: w.Exit}), cli.Dash(cli.Short(w.Base)), cli.Dash(cli.Short(w.Tip)), workerLeft(w))
		}
		if err := t.Flush(); err != nil {
			return err
		}
	}
	if len(shown.Workers) == 0 {
		return nil
	}
	fmt.Fprintln(c.Out)
	return c.workerTable(shown.Workers)
}

// explainWorkers names the workers that keep a workspace from being deleted.
func (c commands) explainWorkers(list []api.Worker) {
	for _, w := range list {
		fmt.Fprintf(c.Errs, "has a workspace in it: worker %s (%s)\n", plaintext.Line(workerLabel(w)), catalog.State(api.Session{State: w.State, Exit: w.Exit}))
	}
	fmt.Fprintln(c.Errs, "--workers deletes those first, by the same consents")
}
