package sessions

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"middleman/cmd/middleman/internal/catalog"
	"middleman/cmd/middleman/internal/cli"
	"middleman/internal/api"
	"middleman/internal/attention"
	"middleman/internal/client"
	"middleman/internal/plaintext"
	"middleman/internal/runtime"
)

// eventTypes are what --type takes: types of events, and kinds of notices.
var eventTypes = []string{
	api.NeedsInput, api.TurnDone, api.AgentFail, "notice", "session", "session-removed", "workspace", "workspace-deleted", "stage", "approval", api.RuntimeEvent,
}

func (c commands) eventsCommand() *cobra.Command {
	var types []string
	cmd := &cobra.Command{
		Use:   "events [TARGET | RUNTIME:] [--type TYPE]...",
		Short: "Print what happens, as it happens: what agents need, sessions and workspaces that change",
		Long: `Print what happens, as it happens, until you press ctrl-c. Each event is one line,
with --json one JSON object. TARGET is a workspace or a session: only its events.
RUNTIME: is another machine (middleman runtime); without it, events of all are printed.

--type selects events: ` + strings.Join(eventTypes, ", ") + `.
The first three are what an agent's user is told: it waits for them, its turn is
over, or it has failed. Several within two seconds are one notice. There is none for a
session that somebody looks at: attached, with input in the last 30 seconds.

If the server ends, events goes on with the next one, and says so. If events were
missed meanwhile, it says that too (in JSON by the type "resync").`,
		Args: cli.Args(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, given []string) error {
			for _, name := range types {
				if !slices.Contains(eventTypes, name) {
					return cli.Usagef("--type is %q: it must be one of %s", name, strings.Join(eventTypes, ", "))
				}
			}
			return c.events(cmd.Context(), strings.Join(given, ""), types)
		},
	}
	cmd.Flags().StringArrayVar(&types, "type", nil, "only events of this `TYPE`; repeatable")
	return cmd
}

// events prints events until ctx ends.
func (c commands) events(ctx context.Context, target string, types []string) error {
	server, err := c.Server(ctx)
	if err != nil {
		return err
	}
	defer server.Close()
	only := wanted{types: types, runtime: c.Runtime}
	if target != "" {
		list, err := catalog.OfServer(ctx, server)
		if err != nil {
			return err
		}
		if list.IsSession(target) {
			s, err := list.Session(target)
			if err != nil {
				return err
			}
			only.session = s.ID
		} else {
			w, err := list.Workspace(target)
			if err != nil {
				return err
			}
			only.workspace = w.ID
		}
	}
	away, begun := false, map[string]bool{}
	return client.Follow(ctx, c.Dirs, func(e api.Event) error {
		e = runtime.Unwrap(e)
		switch away = false; {
		case e.Type != client.Missed:
		case e.Runtime == "":
			fmt.Fprintln(c.Errs, "middleman: note: events were missed: the server was started again, or this command could not keep up")
		case begun[e.Runtime] && only.on(e.Runtime):
			fmt.Fprintf(c.Errs, "middleman: note: events of runtime %s were missed\n", e.Runtime)
		}
		begun[e.Runtime] = true
		return c.printEvent(e, only)
	}, func(err error) {
		if !away {
			fmt.Fprintf(c.Errs, "middleman: note: no events at present, because the server is gone (%v)\n", err)
		}
		away = true
	})
}

// wanted says which events are printed.
type wanted struct {
	types              []string
	runtime            string // "" for all, if there is no id
	workspace, session string // ids, "" for all
}

// on reports whether events of a runtime are wanted, "" for this machine.
func (w wanted) on(runtime string) bool {
	return w.runtime == runtime || w.runtime == "" && w.workspace == "" && w.session == ""
}

func (w wanted) about(workspace, session string) bool {
	return (w.workspace == "" || w.workspace == workspace) && (w.session == "" || w.session == session)
}

func (w wanted) typed(names ...string) bool {
	return len(w.types) == 0 || slices.ContainsFunc(names, func(name string) bool { return slices.Contains(w.types, name) })
}

// printEvent prints what is wanted of an event.
func (c commands) printEvent(e api.Event, only wanted) error {
	line := fmt.Sprintf("%s  %s", e.Time.Local().Format(time.TimeOnly), e.Type)
	switch {
	case !only.on(e.Runtime):
		return nil
	case e.Notice != nil:
		return c.printNotice(e, only)
	case e.Type == client.Missed:
	case !only.typed(e.Type):
		return nil
	case e.Session != nil:
		if !only.about(e.Session.WorkspaceID, e.ID) {
			return nil
		}
		line += "  " + catalog.Label(*e.Session) + "  " + attention.State(*e.Session)
		if e.Session.Agent != nil {
			line += "  " + e.Session.Agent.Text()
		}
	case e.Workspace != nil:
		if !only.about(e.ID, "") {
			return nil
		}
		line += "  " + e.Workspace.Label + "  " + string(e.Workspace.State)
	case e.Approval != nil:
		if !only.about(e.Approval.WorkspaceID, e.Approval.SessionID) {
			return nil
		}
		line += "  " + e.Approval.Session + "  " + e.Approval.State + "  " + e.Approval.Tool + ": " + e.Approval.Summary
	case e.Type == api.RuntimeEvent:
		line += "  " + e.Runtime + "  " + stateOf(e)
	case !only.about(e.ID, e.ID): // a session or workspace that is gone, or a stage of one
		return nil
	default:
		line += "  " + e.ID
	}
	return c.printOne(e, line)
}

// stateOf says what has become of a runtime.
func stateOf(e api.Event) string {
	switch {
	case e.State == nil:
		return "removed"
	case e.State.Detail != "":
		return e.State.State + ": " + e.State.Detail
	}
	return e.State.State
}

// printNotice prints the wanted items of a notice, each on a line.
func (c commands) printNotice(e api.Event, only wanted) error {
	var items []api.NoticeItem
	var lines []string
	for _, item := range e.Notice.Items {
		if only.about(item.Workspace, item.Session) && only.typed(item.Kind, e.Type) {
			items = append(items, item)
			lines = append(lines, e.Time.Local().Format(time.TimeOnly)+"  "+item.Kind+"  "+notified(item))
		}
	}
	if len(items) == 0 {
		return nil
	}
	e.Notice = &api.Notice{Items: items}
	return c.printOne(e, strings.Join(lines, "\n"))
}

func (c commands) printOne(e api.Event, text string) error {
	if c.JSON {
		return c.PrintJSONLine(e)
	}
	if e.Type == client.Missed {
		return nil // it was said
	}
	for line := range strings.SplitSeq(text, "\n") {
		fmt.Fprintln(c.Out, plaintext.Line(line))
	}
	return nil
}

// notified describes an item of a notice: the session, and the reason.
func notified(item api.NoticeItem) string {
	text := item.WorkspaceName + "/" + item.SessionName
	if item.Reason != "" {
		text += ": " + item.Reason
	}
	return text
}
