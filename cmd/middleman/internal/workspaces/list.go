package workspaces

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"middleman/cmd/middleman/internal/catalog"
	"middleman/cmd/middleman/internal/cli"
	"middleman/cmd/middleman/internal/viewer"
	"middleman/cmd/middleman/internal/workers"
	"middleman/internal/api"
	"middleman/internal/attention"
	"middleman/internal/plaintext"
	"middleman/terminal"
	"middleman/workspace"
)

func (c commands) lsCommand() *cobra.Command {
	var all, sessions, fresh, ofWorkers bool
	cmd := &cobra.Command{
		Use:     "ls [RUNTIME:] [--all] [--sessions] [--fresh] | ls --workers [TARGET] [--all]",
		Aliases: []string{"list"},
		Short:   "List workspaces, their sessions, or workers",
		Long: `ls lists workspaces, ls --sessions sessions: those of this machine, and those of all
runtimes (middleman runtime) as RUNTIME:NAME. A runtime that does not answer within two
seconds is named, with the age of what is listed of it; its sessions read
"unreachable" then, which says nothing about their programs. ls RUNTIME: lists one
runtime, and fails if that cannot be reached.

A "!" after a session's name or state says that its bell rang, and a "#" that it has
printed something, since somebody last looked at it (attached or watching). The state of
a coding agent that is known (middleman profile list) also says whether it is working,
waiting for you, or idle. An agent that ended although nobody asked it to, as at a reboot,
"can be resumed": it is listed until it is resumed (middleman resume), started again or stopped.

PATH is shown where the terminal is wide enough for all of it; middleman path NAME
prints it too.

The work in a workspace is current where the file system reports changes to the
server. Otherwise its age is shown. BRANCH is the one that is checked out by now. At a
terminal what is wrong with a workspace ("problem") follows the list.`,
		Args: cli.Args(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, given []string) error {
			switch {
			case ofWorkers && (sessions || fresh):
				return cli.Usagef("--workers cannot be combined with --sessions or --fresh")
			case ofWorkers:
				return workers.List(cmd.Context(), c.CLI, strings.Join(given, ""), all)
			case len(given) > 0 && (c.Runtime == "" || given[0] != ""):
				return cli.Usagef("ls takes a TARGET only with --workers; `middleman show %s` shows one", given[0])
			}
			return c.list(cmd.Context(), all, sessions, fresh)
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "list ended sessions, and failed and deleted workspaces with their sessions too")
	cmd.Flags().BoolVar(&sessions, "sessions", false, "list sessions")
	cmd.Flags().BoolVar(&ofWorkers, "workers", false, "list the workers of TARGET (default: of this session; outside a session, all of them); with --all also those that are gone")
	cmd.Flags().BoolVar(&fresh, "fresh", false, "inspect each workspace first, however long that takes")
	return cmd
}

func (c commands) list(ctx context.Context, all, sessions, fresh bool) error {
	if fresh && !sessions { // only a server inspects workspaces
		server, err := c.Server(ctx)
		if err != nil {
			return err
		}
		server.Close()
	}
	elsewhere := func() (catalog.List, error) { return catalog.List{}, nil }
	if c.Runtime == "" {
		elsewhere = catalog.Elsewhere(ctx, c.CLI)
	}
	list, err := c.readTold(ctx, sessions, fresh)
	if err != nil {
		return err
	}
	var past catalog.List
	if all {
		if past, err = catalog.Deleted(ctx, c.CLI); err != nil {
			return err
		}
	}
	remote, err := elsewhere()
	if err != nil {
		fmt.Fprintf(c.Errs, "middleman: what is on other machines: %v\n", err)
	}
	list = list.Join(remote)
	shown := list
	if !all {
		shown = live(list)
	} else {
		list.Sessions = append(list.Sessions, past.Sessions...)
		shown = catalog.List{Workspaces: append(list.Workspaces, past.Workspaces...), Sessions: list.Sessions}
	}
	onlyOfEmpty(shown.Workspaces, list.Sessions)
	out := struct {
		Workspaces []api.Workspace     `json:"workspaces"`
		Sessions   *[]api.Session      `json:"sessions,omitempty"`
		Runtimes   []api.RuntimeAnswer `json:"runtimes,omitempty"`
	}{Workspaces: cli.NotNil(shown.Workspaces), Runtimes: list.Runtimes}
	if sessions {
		s := cli.NotNil(shown.Sessions)
		out.Sessions = &s
	}
	return c.Print(out, func() error {
		c.tellUnheard(shown.Sessions)
		if sessions {
			return errors.Join(c.sessionTable(shown.Sessions), c.tellHidden(len(list.Sessions)-len(shown.Sessions), "ended session", "ls --all --sessions"))
		}
		return errors.Join(c.workspaceTable(shown.Workspaces, list), c.tellHidden(len(list.Workspaces)-len(shown.Workspaces), "failed workspace", "ls --all"))
	})
}

// lateAfter is after how long ls says that a runtime has not answered yet.
const lateAfter = 2 * time.Second

// readTold is readStatusCatalog, and says so if a runtime takes long: it may be half a
// minute until it counts as unreachable.
func (c commands) readTold(ctx context.Context, sessions, fresh bool) (list catalog.List, err error) {
	if c.Runtime == "" {
		return c.readStatusCatalog(ctx, sessions, fresh)
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		list, err = c.readStatusCatalog(ctx, sessions, fresh) // of a runtime it prints nothing
	}()
	select {
	case <-read:
	case <-time.After(lateAfter):
		fmt.Fprintf(c.Errs, "middleman: note: runtime %s has not answered yet\n", c.Runtime)
		_ = c.Errs.Flush() // Run tells of an error
		<-read
	}
	return list, err
}

// onlyOfEmpty removes the attention of workspaces with sessions, which have their own.
func onlyOfEmpty(workspaces []api.Workspace, sessions []api.Session) {
	has := map[string]bool{}
	for _, s := range sessions {
		has[s.WorkspaceID] = true
	}
	for i := range workspaces {
		if has[workspaces[i].ID] {
			workspaces[i].Attention = nil
		}
	}
}

// tellHidden says on a terminal how many of what is called kind a list has left
// out, and the command that lists them.
func (c commands) tellHidden(n int, kind, command string) error {
	if n <= 0 || !viewer.IsTerminal(c.BytesOut) {
		return nil
	}
	verb := "is"
	if n > 1 {
		kind, verb = kind+"s", "are"
	}
	err := c.Out.Flush()
	fmt.Fprintf(c.Errs, "%d %s %s not listed; `middleman %s` lists all\n", n, kind, verb, command)
	return err
}

// tellUnheard says where less is known of agents because no server answers.
func (c commands) tellUnheard(sessions []api.Session) {
	if text := catalog.Unheard(sessions); text != "" {
		c.Warn(text)
	}
}

// live returns l without failed workspaces and sessions of which nothing runs any more,
// unless they wait to be resumed.
func live(l catalog.List) catalog.List {
	var kept catalog.List
	for _, w := range l.Workspaces {
		if w.State != workspace.StateFailed {
			kept.Workspaces = append(kept.Workspaces, w)
		}
	}
	for _, s := range l.Sessions {
		if !s.State.Ended() || len(s.Left) > 0 || attention.Interrupted(s) {
			kept.Sessions = append(kept.Sessions, s)
		}
	}
	return kept
}

func (c commands) workspaceTable(workspaces []api.Workspace, list catalog.List) error {
	t := c.FitTable(cli.WholeLast, "NAME", "BRANCH", "STATE", "SESSIONS", "WORK", "AGE", "REPOSITORY", "PATH")
	if !slices.ContainsFunc(workspaces, hasOtherBranch) {
		t.Spare("BRANCH")
	}
	var problems []string
	for _, w := range workspaces {
		work := Work(w)
		if t.Fits() && w.Problem != "" { // its cell has no room for what to do about it
			work = "problem"
			problems = append(problems, w.Label+": "+w.Problem)
		}
		t.Row(restoreName(w, workspaces), cli.Dash(Branch(w)), state(w), summary(list.SessionsOf(w)), work, cli.Age(w.CreatedAt), cli.Dash(w.RepoName), w.Path)
	}
	err := t.Flush()
	c.Warn(problems...)
	return err
}

// state is the state of a workspace, and of a deleted one also since when.
func state(w api.Workspace) string {
	if w.DeletedAt == nil {
		return string(w.State)
	}
	return fmt.Sprintf("%s %s ago", w.State, cli.Age(*w.DeletedAt))
}

// restoreName is the name of a workspace, and of a deleted one also its id if another
// deleted one has that name: restore takes the id.
func restoreName(w api.Workspace, all []api.Workspace) string {
	same := func(o api.Workspace) bool { return o.DeletedAt != nil && o.Label == w.Label && o.ID != w.ID }
	if w.DeletedAt == nil || !slices.ContainsFunc(all, same) {
		return w.Label
	}
	return w.Label + " (" + w.ID + ")"
}

// hasOtherBranch reports whether the branch of a workspace does not follow from its name.
func hasOtherBranch(w api.Workspace) bool {
	branch := Branch(w)
	return branch != "" && branch != w.Name && !strings.HasSuffix(branch, "/"+w.Name)
}

func (c commands) sessionTable(sessions []api.Session) error {
	t := c.FitTable(6, "SESSION", "ID", "BACKEND", "STATE", "PID", "AGE", "COMMAND")
	t.Spare("BACKEND", "PID", "ID")
	for _, s := range sessions {
		pid := "-"
		if s.PID != 0 {
			pid = fmt.Sprint(s.PID)
		}
		state := attention.State(s) + catalog.Unseen(s)
		if s.DeletedAt != nil {
			state += ", deleted"
		}
		t.Row(catalog.Label(s), s.ID, s.Backend, state, pid, cli.Age(s.CreatedAt), cli.Dash(strings.Join(s.Argv, " ")))
	}
	return t.Flush()
}

// summary names a workspace's live sessions and those that can be resumed, and counts the others by state.
func summary(sessions []api.Session) string {
	var parts []string
	counts := map[terminal.State]int{}
	for _, s := range sessions {
		switch {
		case s.State.Ended() && (len(s.Left) > 0 || attention.Interrupted(s)):
			parts = append(parts, s.Name+" "+attention.State(s))
		case s.State.Ended():
			counts[s.State]++
			continue
		case s.State != terminal.StateRunning:
			parts = append(parts, s.Name+" "+string(s.State))
		case s.Writer != nil:
			parts = append(parts, s.Name+" attached")
		case s.Agent != nil:
			parts = append(parts, s.Name+" "+string(s.Agent.State)+catalog.Unseen(s))
		default:
			parts = append(parts, s.Name+catalog.Unseen(s))
		}
	}
	for _, state := range []terminal.State{terminal.StateExited, terminal.StateFailed, terminal.StateLost} {
		if n := counts[state]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, state))
		}
	}
	return cli.Dash(strings.Join(parts, ", "))
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
	list, err := catalog.Read(ctx, c.CLI)
	if err != nil {
		return err
	}
	shown, err := list.Shown(arg)
	if err != nil {
		shown, err = catalog.InDeleted(ctx, c.CLI, err, func(past catalog.List) (api.Shown, error) { return past.Shown(arg) })
	}
	if err != nil {
		return err
	}
	c.addStatus(ctx, &shown.Workspace)
	c.addEnvironments(ctx, shown.Sessions)
	c.addDenials(shown.Sessions)
	if err := catalog.AddBundles(ctx, c.CLI, shown.Sessions); err != nil {
		fmt.Fprintln(c.Errs, "middleman: bundles of these sessions:", err)
	}
	if err := workers.AddFamily(ctx, c.CLI, &shown); err != nil {
		return err
	}
	return c.Print(shown, func() error {
		w := shown.Workspace
		t := c.Table()
		for _, line := range [][2]string{
			{"name", w.Label}, {"id", w.ID}, {"mode", string(w.Mode)}, {"state", string(w.State)}, {"error", w.Error}, {"problem", w.Problem},
			{"path", w.Path}, {"repository", w.Repository}, {"branch", w.Branch}, {"base", w.Base},
			{"base commit", w.BaseCommit}, {"ports", portRange(w)}, {"created", w.CreatedAt.Local().Format(time.DateTime)}, {"deleted", deletion(w)},
		} {
			if line[1] != "" {
				t.Row(line[0], line[1])
			}
		}
		for _, line := range append(broughtLines(w.Brought), statusLines(w.Status)...) {
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
				fmt.Fprintf(c.Out, "%s is lost: %s\n", plaintext.Line(catalog.Label(s)), plaintext.Line(s.Error))
			}
			c.tellLeft(s)
			if s.Clipboard != "" {
				fmt.Fprintf(c.Out, "clipboard of %s: %s\n", plaintext.Line(catalog.Label(s)), s.Clipboard)
			}
			c.tellSandbox(s)
			c.tellBundle(s)
			c.tellEnvironment(s)
		}
		return workers.FamilyTable(c.CLI, shown, list)
	})
}

// tellLeft says what still runs of an ended session, as far as that is known.
func (c commands) tellLeft(s api.Session) {
	label := plaintext.Line(catalog.Label(s))
	switch {
	case !s.State.Ended():
	case len(s.Left) > 0:
		ids := strings.Trim(fmt.Sprint(s.Left), "[]")
		fmt.Fprintf(c.Out, "%s has left processes that still run: %s; `middleman stop %s` ends them\n", label, ids, label)
	case s.State == terminal.StateExited && s.Error != "":
		fmt.Fprintf(c.Out, "%s has ended: %s\n", label, plaintext.Line(s.Error))
	}
}

// deletion says when a workspace was deleted and what that means, or "".
func deletion(w api.Workspace) string {
	if w.DeletedAt == nil {
		return ""
	}
	text := w.DeletedAt.Local().Format(time.DateTime)
	if w.NotRestorable {
		return text + "; it cannot be restored, only transcripts of its sessions are kept"
	}
	return text + "; `middleman restore " + w.ID + "` brings it back"
}

// portRange returns a range such as "20000-20009", or "" for none.
func portRange(w api.Workspace) string {
	if w.Ports == 0 {
		return ""
	}
	return fmt.Sprintf("%d-%d", w.Port, w.Port+w.Ports-1)
}
