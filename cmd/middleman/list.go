package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"middleman/cmd/middleman/internal/cli"
	"middleman/internal/api"
	"middleman/internal/plaintext"
	"middleman/terminal"
	"middleman/workspace"
)

func (c commands) lsCommand() *cobra.Command {
	var all, sessions, fresh, workers bool
	cmd := &cobra.Command{
		Use:   "ls [--all] [--sessions] [--fresh] | ls --workers [TARGET] [--all]",
		Short: "List workspaces, their sessions, or workers",
		Args:  cli.Args(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, given []string) error {
			switch {
			case workers && (sessions || fresh):
				return cli.Usagef("--workers goes with --all alone")
			case workers:
				return c.listWorkers(cmd.Context(), strings.Join(given, ""), all)
			case len(given) > 0:
				return cli.Usagef("ls takes a TARGET with --workers only; `middleman show %s` shows one", given[0])
			}
			return c.list(cmd.Context(), all, sessions, fresh)
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "ended sessions, and failed and deleted workspaces too")
	cmd.Flags().BoolVar(&sessions, "sessions", false, "list sessions")
	cmd.Flags().BoolVar(&workers, "workers", false, "list workers: of this session, of TARGET, or outside of a session all; with --all those too that are gone")
	cmd.Flags().BoolVar(&fresh, "fresh", false, "look at each workspace first, however long that takes")
	return cmd
}

func (c commands) list(ctx context.Context, all, sessions, fresh bool) error {
	list, err := c.readStatusCatalog(ctx, sessions, fresh)
	if err != nil {
		return err
	}
	shown := list
	if !all {
		shown = list.live()
	} else if !sessions {
		deleted, err := c.readDeleted(ctx)
		if err != nil {
			return err
		}
		shown.workspaces = append(shown.workspaces, deleted...)
	}
	out := struct {
		Workspaces []api.Workspace `json:"workspaces"`
		Sessions   *[]api.Session  `json:"sessions,omitempty"`
	}{Workspaces: cli.NotNil(shown.workspaces)}
	if sessions {
		s := cli.NotNil(shown.sessions)
		out.Sessions = &s
	}
	return c.Print(out, func() error {
		if sessions {
			return c.sessionTable(shown.sessions)
		}
		return c.workspaceTable(shown.workspaces, list)
	})
}

// live is the catalog without what has ended or failed.
func (l catalog) live() catalog {
	var live catalog
	for _, w := range l.workspaces {
		if w.State != workspace.StateFailed {
			live.workspaces = append(live.workspaces, w)
		}
	}
	for _, s := range l.sessions {
		if !s.State.Ended() {
			live.sessions = append(live.sessions, s)
		}
	}
	return live
}

func (c commands) workspaceTable(workspaces []api.Workspace, list catalog) error {
	t := c.Table("NAME", "BRANCH", "STATE", "SESSIONS", "WORK", "PATH")
	for _, w := range workspaces {
		t.Row(w.Name, cli.Dash(w.Branch), string(w.State), summary(list.sessionsOf(w.ID)), workOf(w), w.Path)
	}
	return t.Flush()
}

func (c commands) sessionTable(sessions []api.Session) error {
	t := c.Table("SESSION", "ID", "BACKEND", "STATE", "PID", "AGE", "COMMAND")
	for _, s := range sessions {
		pid := "-"
		if s.PID != 0 {
			pid = fmt.Sprint(s.PID)
		}
		t.Row(sessionLabel(s), s.ID, s.Backend, stateOf(s), pid, cli.Age(s.CreatedAt), cli.Dash(strings.Join(s.Argv, " ")))
	}
	return t.Flush()
}

// summary says how many of a workspace's sessions are in which state.
func summary(sessions []api.Session) string {
	counts := map[terminal.State]int{}
	for _, s := range sessions {
		counts[s.State]++
	}
	var parts []string
	for _, state := range []terminal.State{
		terminal.StateStarting, terminal.StateRunning, terminal.StateStopping, terminal.StateUnreachable,
		terminal.StateExited, terminal.StateFailed, terminal.StateLost,
	} {
		if n := counts[state]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, state))
		}
	}
	return cli.Dash(strings.Join(parts, ", "))
}

// stateOf is a session's state, and how it exited.
func stateOf(s api.Session) string {
	switch {
	case s.Exit == nil:
		return string(s.State)
	case s.Exit.Signal != 0:
		return fmt.Sprintf("%s (%s)", s.State, s.Exit.SignalName)
	}
	return fmt.Sprintf("%s (%d)", s.State, s.Exit.Code)
}

func sessionLabel(s api.Session) string {
	if s.WorkspaceName == "" {
		return s.ID
	}
	return s.WorkspaceName + "/" + s.Name
}

func (c commands) showCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "show TARGET",
		Short: "Show a workspace and its sessions",
		Args:  cli.Args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, given []string) error {
			return c.show(cmd.Context(), given[0])
		},
	}
}

func (c commands) show(ctx context.Context, arg string) error {
	list, err := c.readCatalog(ctx)
	if err != nil {
		return err
	}
	shown, err := list.shown(arg)
	if err != nil {
		return err
	}
	c.addStatus(ctx, &shown.Workspace)
	if err := c.addFamily(ctx, &shown); err != nil {
		return err
	}
	return c.Print(shown, func() error {
		w := shown.Workspace
		t := c.Table()
		for _, line := range [][2]string{
			{"name", w.Name}, {"id", w.ID}, {"mode", string(w.Mode)}, {"state", string(w.State)}, {"error", w.Error}, {"problem", w.Problem},
			{"path", w.Path}, {"repository", w.Repository}, {"branch", w.Branch}, {"base", w.Base},
			{"base commit", w.BaseCommit}, {"ports", portRange(w)}, {"created", w.CreatedAt.Local().Format(time.DateTime)},
		} {
			if line[1] != "" {
				t.Row(line[0], line[1])
			}
		}
		for _, line := range statusLines(w.Status) {
			t.Row(line[0], line[1])
		}
		if err := t.Flush(); err != nil || len(shown.Sessions) == 0 {
			return err
		}
		fmt.Fprintln(c.Out)
		if err := c.sessionTable(shown.Sessions); err != nil {
			return err
		}
		for _, s := range shown.Sessions {
			if s.State == terminal.StateLost && s.Error != "" {
				fmt.Fprintf(c.Out, "%s is lost: %s\n", plaintext.Line(sessionLabel(s)), plaintext.Line(s.Error))
			}
			if s.Clipboard != "" {
				fmt.Fprintf(c.Out, "clipboard of %s: %s\n", plaintext.Line(sessionLabel(s)), s.Clipboard)
			}
		}
		return c.familyTable(shown, list)
	})
}

// portRange is "20000-20009", or "" for none.
func portRange(w api.Workspace) string {
	if w.Ports == 0 {
		return ""
	}
	return fmt.Sprintf("%d-%d", w.Port, w.Port+w.Ports-1)
}

// shown is a workspace with all its sessions, or with the one that arg names.
func (l catalog) shown(arg string) (api.Shown, error) {
	if w, err := l.workspace(arg); err == nil {
		sessions := cli.NotNil(l.sessionsOf(w.ID))
		w.Sessions = nil
		return api.Shown{Workspace: w, Sessions: sessions}, nil
	}
	s, err := l.session(arg)
	if err != nil {
		return api.Shown{}, err
	}
	shown := api.Shown{Sessions: []api.Session{s}}
	if w, err := l.workspace(s.WorkspaceID); err == nil {
		w.Sessions = nil
		shown.Workspace = w
	}
	return shown, nil
}
