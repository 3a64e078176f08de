package sessions

import (
	"cmp"
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"middleman/cmd/middleman/internal/catalog"
	"middleman/cmd/middleman/internal/cli"
	"middleman/cmd/middleman/internal/viewer"
	"middleman/internal/api"
	"middleman/internal/attention"
	"middleman/internal/audit"
	"middleman/terminal"
)

// listTime is how long the list of sessions may take.
const listTime = 10 * time.Second

// attaching is one attach or watch, in which the user may go from session to
// session.
type attaching struct {
	commands
	base    viewer.Options // what the command line says
	problem error          // what did not work when the last session was joined
	notices notices
}

// untilDetached is how long a session on another machine is tried again: through a
// night in which this machine sleeps.
const untilDetached = 7 * 24 * time.Hour

// options returns how to join t.
func (a *attaching) options(ctx context.Context, t catalog.Target, takeover bool) (viewer.Options, error) {
	o, settings := a.base, a.Config.Attach
	detach, err := settings.DetachByte()
	if err != nil {
		return o, err
	}
	change, err := settings.SwitchByte()
	if err != nil {
		return o, err
	}
	o.Detach, o.DetachName = detach, settings.Detach
	o.Label, o.Takeover, o.Scrollback = t.Label(), takeover, settings.Scrollback
	o.Switch = a.switching(t.Shown.ID, change)
	o.Aside = a.notices.aside
	if a.Runtime != "" {
		o.Patience = untilDetached
	}
	joined := func() { a.notices.show(t.Shown.ID) }
	o.Joined = joined
	if o.Takeover {
		a.Record(audit.Takeover, "session "+t.Shown.ID+" name "+t.Label(), nil)
	}
	if o.Mode == terminal.ModeAttach {
		o.Clipboard = cmp.Or(o.Clipboard, terminal.Clipboard(settings.Clipboard))
		in := newInbox(a.silent(), t.Shown.ID)
		o.Switch.Requests = in.requests
		o.Joined = func() {
			joined()
			a.linkAgent(ctx, t)
			a.problem = errors.Join(catalog.NoteAttached(a.CLI, t.Shown.ID), in.open(ctx))
		}
		o.Left = in.close
	}
	return o, nil
}

// switching returns what lets the user go to another session from the one with
// the id here.
func (a *attaching) switching(here string, key byte) *viewer.Switch {
	return &viewer.Switch{
		Key: key, Name: a.Config.Attach.Switch,
		List: func(ctx context.Context) ([]viewer.Choice, int, error) {
			ctx, cancel := context.WithTimeout(ctx, listTime)
			defer cancel()
			return a.choices(ctx, here)
		},
		Open: func(ctx context.Context, id string, takeover bool) (terminal.Session, viewer.Options, error) {
			t, err := catalog.Find(ctx, a.silent(), id)
			if err != nil {
				return nil, viewer.Options{}, err
			}
			o, err := a.options(ctx, t, takeover)
			return t.Session, o, err
		},
	}
}

// choices lists the live sessions: those attached before in the order of their
// last use, then the others by name, and the one with the id here last. So the
// first is the one that "attach -" means.
func (a *attaching) choices(ctx context.Context, here string) (choices []viewer.Choice, ended int, err error) {
	list, err := catalog.Read(ctx, a.silent())
	if err != nil {
		return nil, 0, err
	}
	sorted, err := catalog.ByUse(a.CLI, list.Sessions)
	if err != nil {
		return nil, 0, err
	}
	var last []viewer.Choice
	for _, s := range sorted {
		switch {
		case s.State.Ended():
			ended++
		case s.ID == here:
			last = append(last, choice(s, false, true))
		default:
			choices = append(choices, choice(s, a.base.Mode == terminal.ModeAttach && s.Writer != nil, false))
		}
	}
	return append(choices, last...), ended, nil
}

func choice(s api.Session, busy, here bool) viewer.Choice {
	group, _, _ := attention.Judge(s)
	return viewer.Choice{
		Needs: group == attention.NeedsYou,
		ID:    s.ID, Label: catalog.Label(s), State: attention.State(s) + catalog.Unseen(s), Runs: strings.Join(s.Argv, " "), Here: here, Busy: busy,
	}
}

// silent returns a CLI that says nothing: the terminal shows a session.
func (a *attaching) silent() *cli.CLI { return a.To(io.Discard, io.Discard) }
