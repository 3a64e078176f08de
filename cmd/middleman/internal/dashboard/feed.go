package dashboard

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"middleman/cmd/middleman/internal/catalog"
	"middleman/internal/api"
	"middleman/internal/client"
	"middleman/internal/runtime"
)

const (
	// refresh is how often ages and the work in workspaces are read again, while
	// the dashboard is shown.
	refresh = 10 * time.Second
	// lookForServer is how often a server is looked for while none answers.
	lookForServer = 500 * time.Millisecond
	// gather is how long events are gathered before they are shown together.
	gather = 60 * time.Millisecond
)

// listed is the whole list.
type listed struct {
	shown  int // which showing it is of
	list   catalog.List
	asked  []api.Approval // what agents wait to be allowed
	server bool           // it comes from a server, whose events follow
	note   string         // what went wrong
	err    error
}

// changed are sessions and approvals that have changed since the list was read.
type changed struct {
	shown    int
	sessions []api.Session
	asked    []api.Approval
}

// feed keeps the list up to date until ctx ends.
func (d *dashboard) feed(ctx context.Context, shown int) {
	for ctx.Err() == nil {
		server, err := client.Connect(ctx, d.cli.Dirs)
		if err == nil {
			err = d.follow(ctx, shown, server)
			server.Close()
		}
		if ctx.Err() != nil {
			return
		}
		d.readDisk(ctx, shown, err)
		d.awaitServer(ctx)
	}
}

// awaitServer returns when a server answers, when the list on the disk is to be read
// again, or when ctx has ended.
func (d *dashboard) awaitServer(ctx context.Context) {
	ctx, stop := context.WithTimeout(ctx, refresh)
	defer stop()
	look := time.NewTicker(lookForServer)
	defer look.Stop()
	for {
		select {
		case <-look.C:
			if server, err := client.Connect(ctx, d.cli.Dirs); err == nil {
				server.Close()
				return
			}
		case <-d.again:
			return
		case <-ctx.Done():
			return
		}
	}
}

// readDisk lists without a server. why says why none answers.
func (d *dashboard) readDisk(ctx context.Context, shown int, why error) {
	var said bytes.Buffer
	quiet := d.cli.To(&said, &said)
	list, err := catalog.Disk(ctx, quiet)
	quiet.Errs.Flush()
	l := listed{shown: shown, list: list, note: lastLine(said.String()), err: err}
	if !errors.Is(why, client.ErrNoServer) {
		l.note = why.Error()
	}
	d.tell(ctx, l)
}

// noEvent is the id of no event. Who asks for the events after it is told at once that
// some are missing, and reads the list then: so it misses none.
const noEvent = "none"

// follow follows a server until it ends or does not answer.
func (d *dashboard) follow(ctx context.Context, shown int, server *client.Client) error {
	ctx, stop := context.WithCancel(ctx)
	events, ended := make(chan api.Event), make(chan error, 1)
	go func() {
		_, err := server.Events(ctx, noEvent, func(_ string, e api.Event) error {
			select {
			case events <- e:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
		if err == nil {
			err = client.ErrNoServer // it has ended its stream
		}
		ended <- err
	}()
	err := d.take(ctx, shown, server, events, ended)
	stop()
	if err == nil {
		err = <-ended
	}
	return err
}

// take reads the list, and passes on what changes in it. It returns the error with
// which the events ended, or nil if they did not.
func (d *dashboard) take(ctx context.Context, shown int, server *client.Client, events <-chan api.Event, ended <-chan error) error {
	tick := time.NewTicker(refresh)
	defer tick.Stop()
	reread := false
	far := &far{server: server, answers: make(chan catalog.List)}
	ctx, cancel := context.WithCancel(ctx)
	defer far.asked.Wait()
	defer cancel() // first
	far.ask(ctx)
	var sessions map[string]api.Session
	var asked map[string]api.Approval
	var due <-chan time.Time
	for {
		if reread && due == nil {
			l := readServer(ctx, shown, server)
			l.list, l.note = l.list.Join(far.list), far.note()
			d.tell(ctx, l)
			reread = false
		}
		select {
		case e := <-events:
			if due == nil {
				due, sessions, asked = time.After(gather), map[string]api.Session{}, map[string]api.Approval{}
			}
			again := changes(runtime.Unwrap(e), sessions, asked)
			if reread = reread || again; e.Runtime != "" && again {
				far.ask(ctx)
			}
		case far.list = <-far.answers:
			far.waits, reread = false, true
		case <-due:
			due = nil
			if !reread && len(sessions)+len(asked) > 0 {
				d.tell(ctx, changed{shown, slices.Collect(maps.Values(sessions)), slices.Collect(maps.Values(asked))})
			}
		case <-tick.C:
			far.ask(ctx)
			reread = true
		case <-d.again:
			far.ask(ctx)
			reread = true
		case err := <-ended:
			return err
		case <-ctx.Done():
			return nil
		}
	}
}

// changes adds the session of an event to sessions and the request of one to asked, and
// reports whether the list must be read again. Those on other machines are in the
// output of `middleman approvals` alone.
func changes(e api.Event, sessions map[string]api.Session, asked map[string]api.Approval) bool {
	if e.Type == "session" && e.Session != nil {
		sessions[target(e.Runtime, e.Session.ID)] = *e.Session
		return false
	}
	if e.Type == "approval" && e.Approval != nil && e.Runtime == "" {
		asked[e.Approval.ID] = *e.Approval
	}
	return e.Type == client.Missed || e.Type == api.RuntimeEvent || e.Type == "session-removed" || strings.HasPrefix(e.Type, "workspace")
}

// far is what other machines have. One that is slow does not delay the list.
type far struct {
	server  *client.Client
	list    catalog.List // the last answer
	answers chan catalog.List
	waits   bool   // an answer is waited for
	noted   string // what note has returned
	asked   sync.WaitGroup
}

// ask asks for the list, unless an answer is waited for.
func (f *far) ask(ctx context.Context) {
	if f.waits {
		return
	}
	f.waits = true
	before := f.list
	f.asked.Go(func() {
		list, err := catalog.OfRuntimes(ctx, f.server)
		if err != nil {
			list = before
		}
		select {
		case f.answers <- list:
		case <-ctx.Done():
		}
	})
}

// note names the first runtime that has not answered, once for each state of it.
func (f *far) note() string {
	at := slices.IndexFunc(f.list.Runtimes, func(r api.RuntimeAnswer) bool { return !r.Current })
	if at < 0 {
		f.noted = ""
		return ""
	}
	r := f.list.Runtimes[at]
	state := r.Runtime.Name + r.Runtime.State + r.Runtime.Reason
	if state == f.noted {
		return ""
	}
	f.noted = state
	return catalog.Absent(r)
}

// readServer lists what the server knows, with the work in the workspaces.
func readServer(ctx context.Context, shown int, server *client.Client) listed {
	l := listed{shown: shown, server: true}
	if l.list.Workspaces, l.err = server.WorkspacesStatus(ctx, false); l.err == nil {
		l.list.Sessions, l.err = server.Sessions(ctx)
	}
	if l.err == nil {
		l.err = server.Approvals(ctx, "", false, func(a api.Approval) { l.asked = append(l.asked, a) })
	}
	return l
}

// tell passes a message on, unless ctx has ended.
func (d *dashboard) tell(ctx context.Context, msg any) {
	if ctx.Err() == nil {
		d.send(msg)
	}
}
