package workspaces

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"middleman/cmd/middleman/internal/catalog"
	"middleman/cmd/middleman/internal/cli"
	"middleman/internal/api"
	"middleman/internal/app"
	"middleman/internal/client"
	"middleman/workspace"
)

// readStatusCatalog reads the catalog with the status of each workspace. A
// server inspects them in the background. Without one it takes the statuses
// that the last server saved.
func (c commands) readStatusCatalog(ctx context.Context, sessions, fresh bool) (catalog.List, error) {
	if sessions {
		return catalog.Read(ctx, c.CLI)
	}
	list, err := c.readStatuses(ctx, fresh)
	if err == nil && c.Runtime == "" && slices.ContainsFunc(list.Workspaces, mayBeKept) {
		c.addKept(list.Workspaces)
	}
	return list, err
}

func (c commands) readStatuses(ctx context.Context, fresh bool) (catalog.List, error) {
	if !fresh {
		return catalog.ReadStatus(ctx, c.CLI)
	}
	return catalog.ReadBy(ctx, c.CLI, func(server *client.Client, ctx context.Context) ([]api.Workspace, error) {
		return server.WorkspacesStatus(ctx, true)
	})
}

// mayBeKept reports whether a status of w may have been saved that w has not got.
func mayBeKept(w api.Workspace) bool {
	return w.Status == nil && w.State == workspace.StateReady && w.Mode != workspace.ModeDirectory
}

// addKept adds saved statuses to workspaces that have none.
func (c commands) addKept(list []api.Workspace) {
	known, err := app.ReadStatuses(c.Dirs.Statuses())
	if err != nil {
		fmt.Fprintf(c.Errs, "middleman: %v\n", err)
	}
	for i, w := range list {
		if status, ok := known[w.ID]; ok && mayBeKept(w) {
			list[i].Status = &status
		}
	}
}

// addStatus adds a workspace's status: the current one if a server answers,
// else the saved one.
func (c commands) addStatus(ctx context.Context, w *api.Workspace) {
	if w.State != workspace.StateReady {
		return
	}
	server, err := c.Connect(ctx)
	if err == nil {
		defer server.Close()
		var now api.Workspace
		if now, err = server.WorkspaceStatus(ctx, w.ID); err == nil {
			w.Status = now.Status
			return
		}
	}
	if !errors.Is(err, client.ErrNoServer) {
		fmt.Fprintf(c.Errs, "middleman: read the status of %s: %v\n", w.Label, err)
	}
	if c.Runtime != "" {
		return
	}
	one := []api.Workspace{*w}
	c.addKept(one)
	w.Status = one[0].Status
}

// Work describes the work in a workspace in one cell, as ls does.
func Work(w api.Workspace) string {
	s := w.Status
	switch {
	case w.Problem != "":
		return w.Problem
	case s == nil && w.Mode == workspace.ModeWorktree && w.State == workspace.StateReady:
		return "unknown"
	case s == nil:
		return "-"
	case s.Files == nil:
		return "unknown" + ageOf(s)
	}
	parts := filesOf(*s.Files)
	if s.Operation != "" {
		parts = append(parts, s.Operation)
	}
	if s.Base != nil {
		parts = append(parts, distanceOf(*s.Base)...)
	}
	text := cmp.Or(strings.Join(parts, ", "), "clean")
	if w.Brought != nil && w.Brought.Problem != "" {
		text += ", not imported from its sandbox"
	}
	if at := sandboxHead(w); at != "" {
		text += ", its sandbox is on " + at
	}
	if s.Base == nil && len(s.Unknown) > 0 {
		text += ", base unknown"
	}
	return text + ageOf(s)
}

// Branch tells which branch a workspace has checked out, in one cell, as ls does. A
// program in it may have switched, and what Work counts is of HEAD. While that is not
// known, or an operation such as a rebase has detached HEAD, it is the branch that the
// workspace was made with.
func Branch(w api.Workspace) string {
	s := w.Status
	switch {
	case w.Branch == "" || s == nil || s.Head == "" || s.Branch == "" && s.Operation != "":
		return w.Branch
	case s.Branch == "":
		return "detached " + cli.Short(s.Head)
	}
	return s.Branch
}

// ageOf returns the age of a status that may no longer be true, or "". One that
// was just read, or that file-system events still confirm, is as of now.
func ageOf(s *workspace.Status) string {
	switch {
	case s.Outdated:
		return " (" + cli.Age(s.AsOf) + " ago, changed since)"
	case s.AsOf.IsZero() || s.Source == "git" || s.Source == "events" || s.Source == "memory" && time.Since(s.AsOf) < time.Second:
		return ""
	}
	return " (" + cli.Age(s.AsOf) + " ago)"
}

func filesOf(f workspace.Files) []string {
	var parts []string
	for _, kind := range []struct {
		n    int
		word string
	}{{f.Conflicted, "in conflict"}, {f.Staged, "staged"}, {f.Changed, "changed"}, {f.Untracked, "untracked"}} {
		if kind.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", kind.n, kind.word))
		}
	}
	return parts
}

func distanceOf(d workspace.Distance) []string {
	var parts []string
	if d.Ahead > 0 {
		parts = append(parts, fmt.Sprintf("%d ahead", d.Ahead))
	}
	if d.Behind > 0 {
		parts = append(parts, fmt.Sprintf("%d behind", d.Behind))
	}
	return parts
}

// statusLines formats a status for show.
func statusLines(s *workspace.Status) [][2]string {
	if s == nil {
		return nil
	}
	var lines [][2]string
	add := func(key, value string) { lines = append(lines, [2]string{key, value}) }
	if s.Files != nil {
		add("head", cmp.Or(s.Head, "no commit yet")+cmp.Or(onBranch(s.Branch), ", detached"))
		add("files", cmp.Or(strings.Join(filesOf(*s.Files), ", "), "clean"))
	}
	if s.Operation != "" {
		add("in progress", s.Operation)
	}
	for _, d := range []struct {
		key string
		at  *workspace.Distance
	}{{"from base", s.Base}, {"from upstream", s.Upstream}} {
		if d.at != nil {
			add(d.key, cmp.Or(strings.Join(distanceOf(*d.at), ", "), "even")+" of "+d.at.Of)
		}
	}
	for _, why := range s.Unknown {
		add("unknown", why)
	}
	for _, what := range s.Warnings {
		add("warning", what)
	}
	if !s.AsOf.IsZero() {
		add("as of", s.AsOf.Local().Format(time.DateTime)+ageOf(s))
	}
	if s.Unwatched != "" {
		add("not watched", s.Unwatched)
	}
	return lines
}

func onBranch(branch string) string {
	if branch == "" {
		return ""
	}
	return " on " + branch
}
