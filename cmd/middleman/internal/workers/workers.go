// Package workers shows and awaits the sessions that other sessions have
// started. It asks a running server, else it reads their records.
package workers

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
	"middleman/internal/app"
	"middleman/internal/attention"
	"middleman/internal/plaintext"
	"middleman/internal/store"
	"middleman/terminal"
)

// How a worker is isolated from the session that started it.
const (
	Worktree = "worktree" // it has a worktree and a branch of its own
	Shared   = "shared"   // it works in the session's directory
)

// errWorkers says that an awaited worker did not exit with 0.
var errWorkers = errors.New("not every worker exited with 0")

// List prints the workers of the session or workspace that target names.
// Without a target it prints those of this process's session, or outside a
// session all. With all it adds those that have ended and whose workspace is
// gone.
func List(ctx context.Context, c *cli.CLI, target string, all bool) error {
	match, err := chosen(ctx, c, target)
	if err != nil {
		return err
	}
	list, err := read(ctx, c)
	if err != nil {
		return err
	}
	shown := []api.Worker{}
	for _, w := range list {
		if match(w) && (all || w.EndedAt == nil || w.Present && w.Isolation == Worktree) {
			shown = append(shown, w)
		}
	}
	return show(c, shown)
}

// chosen returns the test for the workers that target means.
func chosen(ctx context.Context, c *cli.CLI, target string) (func(api.Worker) bool, error) {
	own := os.Getenv("MIDDLEMAN_SESSION")
	if target == "" && own == "" {
		return func(api.Worker) bool { return true }, nil
	}
	if target == "" {
		return func(w api.Worker) bool { return w.ParentSession == own }, nil
	}
	list, err := catalog.Read(ctx, c)
	if err != nil {
		return nil, err
	}
	if w, err := list.Workspace(target); err == nil {
		return func(k api.Worker) bool { return k.ParentWorkspace == w.ID }, nil
	}
	s, err := list.Session(target)
	return func(k api.Worker) bool { return k.ParentSession == s.ID }, err
}

// read asks the server; if none answers it reads the records.
func read(ctx context.Context, c *cli.CLI) ([]api.Worker, error) {
	server, err := c.Connect(ctx)
	if err == nil {
		defer server.Close()
		return server.Workers(ctx)
	}
	if c.Runtime != "" {
		return nil, err
	}
	records, err := store.Tombstones{Dir: c.Dirs.Workers()}.Read()
	if err != nil {
		fmt.Fprintln(c.Errs, "middleman:", err)
	}
	if len(records) == 0 {
		return nil, nil
	}
	known, err := catalog.Disk(ctx, c)
	known = known.Exact()
	list := make([]api.Worker, len(records))
	for i, t := range records {
		list[i] = app.WorkerView(t)
		_, err := known.Workspace(t.Workspace)
		list[i].Present = err == nil
		if s, err := known.Session(t.ID); err == nil && t.Ended == nil {
			list[i].State, list[i].Exit, list[i].Name = s.State, s.Exit, s.Name
		}
	}
	return list, err
}

func show(c *cli.CLI, list []api.Worker) error {
	return c.Print(api.Workers{Workers: list}, func() error {
		return table(c, list)
	})
}

func table(c *cli.CLI, list []api.Worker) error {
	t := c.Table("WORKER", "ID", "ISOLATION", "STATE", "AGE", "BRANCH", "LEFT")
	for _, w := range list {
		state := attention.State(api.Session{State: w.State, Exit: w.Exit})
		t.Row(label(w), w.ID, w.Isolation, state, cli.Age(w.StartedAt), cli.Dash(w.Branch), left(w))
	}
	return t.Flush()
}

// label returns a worker's name for the command line.
func label(w api.Worker) string {
	if w.Isolation == Worktree && w.WorkspaceName != "" {
		return w.WorkspaceName
	}
	return catalog.Label(api.Session{ID: w.ID, Name: w.Name, WorkspaceName: w.WorkspaceName})
}

// left describes the work that an ended worker has left.
func left(w api.Worker) string {
	switch {
	case w.LeftUnknown != "":
		return "unknown: " + w.LeftUnknown
	case w.Left == nil:
		return "-"
	}
	return w.Left.Summary()
}

// Wait waits until all workers of the session that target names have ended, and
// prints them. Without a target it is this process's session. It returns an
// error if a worker did not exit with 0.
func Wait(ctx context.Context, c *cli.CLI, target string) error {
	session, err := parent(ctx, c, target)
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
	if err := show(c, cli.NotNil(list)); err != nil {
		return err
	}
	var bad []string
	for _, w := range list {
		if w.State != terminal.StateExited || w.Exit == nil || w.Exit.Status() != 0 {
			bad = append(bad, label(w))
		}
	}
	if len(bad) > 0 {
		return fmt.Errorf("%w: %s", errWorkers, strings.Join(bad, ", "))
	}
	return nil
}

// parent returns the id of the session whose workers are meant.
func parent(ctx context.Context, c *cli.CLI, target string) (string, error) {
	if target == "" {
		return OwnSession()
	}
	list, err := catalog.Read(ctx, c)
	if err != nil {
		return "", err
	}
	s, err := list.Session(target)
	return s.ID, err
}

// AddFamily adds two lists to shown: which of its sessions are workers, and the
// workers of its sessions.
func AddFamily(ctx context.Context, c *cli.CLI, shown *api.Shown) error {
	all, err := read(ctx, c)
	for _, w := range all {
		isShown := slices.ContainsFunc(shown.Sessions, func(s api.Session) bool { return s.ID == w.ID })
		if isShown || w.Isolation == Worktree && w.WorkspaceID == shown.Workspace.ID {
			shown.AsWorkers = append(shown.AsWorkers, w)
		}
		if slices.ContainsFunc(shown.Sessions, func(s api.Session) bool { return s.ID == w.ParentSession }) {
			shown.Workers = append(shown.Workers, w)
		}
	}
	return err
}

// FamilyTable prints what AddFamily added. list names the sessions that started
// the workers.
func FamilyTable(c *cli.CLI, shown api.Shown, list catalog.List) error {
	if len(shown.AsWorkers) > 0 {
		fmt.Fprintln(c.Out)
		t := c.Table("AS A WORKER", "OF", "STATE", "BASE", "TIP", "LEFT")
		for _, w := range shown.AsWorkers {
			parent := w.ParentSession
			if s, err := list.Session(parent); err == nil {
				parent = catalog.Label(s)
			}
			t.Row(label(w), parent, attention.State(api.Session{State: w.State, Exit: w.Exit}), cli.Dash(cli.Short(w.Base)), cli.Dash(cli.Short(w.Tip)), left(w))
		}
		if err := t.Flush(); err != nil {
			return err
		}
	}
	if len(shown.Workers) == 0 {
		return nil
	}
	fmt.Fprintln(c.Out)
	return table(c, shown.Workers)
}

// Explain lists the workers because of which a workspace cannot be deleted.
func Explain(c *cli.CLI, list []api.Worker) {
	for _, w := range list {
		fmt.Fprintf(c.Errs, "has a workspace inside this one: worker %s (%s)\n", plaintext.Line(label(w)), attention.State(api.Session{State: w.State, Exit: w.Exit}))
	}
	fmt.Fprintln(c.Errs, "--workers deletes those first, with the same flags")
}

// OwnSession returns the id of the session that this process runs in. Outside a
// session it returns a usage error.
func OwnSession() (string, error) {
	id := os.Getenv("MIDDLEMAN_SESSION")
	if id == "" || os.Getenv("MIDDLEMAN_WORKSPACE") == "" {
		return "", cli.Usagef("this is not the terminal of a session (MIDDLEMAN_SESSION and MIDDLEMAN_WORKSPACE are not set): name the session, with --parent TARGET for a worker of it; `middleman new` makes a workspace")
	}
	if err := terminal.CheckID(id); err != nil {
		return "", cli.Usagef("MIDDLEMAN_SESSION: %w", err)
	}
	return id, nil
}
