package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"middleman/internal/api"
	"middleman/internal/client"
)

const (
	// silence is how long a stream of events may be without a byte: a server sends a
	// comment every 15 seconds.
	silence = 45 * time.Second
	// maxEvent bounds the bytes of one event that is passed on. Of a larger one it is
	// only told that an event is missing.
	maxEvent = 8 << 10
	// eventBurst events are passed on at once, and as many in each second. A remote
	// that has more is not read meanwhile, so that it keeps them or says later that
	// some are missing.
	eventBurst = 200
	// firstRetry and lastRetry bound the pause before a remote is asked for its events
	// again.
	firstRetry = 500 * time.Millisecond
	lastRetry  = 15 * time.Second
)

// passed are the types of events that are passed on. Those of a remote's own remotes
// are not, so that no event goes in a circle.
var passed = []string{
	"workspace", "workspace-deleted", "session", "session-removed", "stage", "approval", "notice", "denied", "notification", client.Missed,
}

// follower has the streams of events of a Set.
type follower struct {
	// publish gets the events. It must not block.
	publish func(api.Event)

	mu      sync.Mutex // guards the fields below
	users   int        // who wants events
	streams map[string]context.CancelFunc
	running sync.WaitGroup // of streams
}

// Follow makes the events of all remotes come, until release is called: each as an
// event of the type "remote". When a stream begins, and when events of a remote are
// missing, one of its events has the type client.Missed.
func (s *Set) Follow(ctx context.Context) (release func(), err error) {
	all, err := s.List(ctx)
	if err != nil {
		return nil, err
	}
	f := &s.follower
	f.mu.Lock()
	defer f.mu.Unlock()
	f.users++
	for _, r := range all {
		f.start(r)
	}
	return sync.OnceFunc(func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.users--; f.users == 0 {
			for name := range f.streams {
				f.end(name)
			}
		}
	}), nil
}

// start follows a remote, unless it is followed already. It is called with mu held.
func (f *follower) start(r *Remote) {
	if f.users == 0 || f.streams[r.config.Name] != nil {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	f.streams[r.config.Name] = cancel
	f.running.Go(func() { r.follow(ctx, f.publish) })
}

// end ends the stream of a remote, if there is one. It is called with mu held.
func (f *follower) end(name string) {
	if cancel := f.streams[name]; cancel != nil {
		cancel()
		delete(f.streams, name)
	}
}

// close ends all streams and waits for them.
func (f *follower) close() {
	f.mu.Lock()
	f.users = 0
	for name := range f.streams {
		f.end(name)
	}
	f.mu.Unlock()
	f.running.Wait()
}

// follow passes the events of a remote on until ctx ends, over breaks of the
// connection.
func (r *Remote) follow(ctx context.Context, publish func(api.Event)) {
	last, pause := "", firstRetry
	for ctx.Err() == nil {
		began := time.Now()
		last = r.stream(ctx, last, publish)
		if time.Since(began) > lastRetry {
			pause = firstRetry
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
		pause = min(2*pause, lastRetry)
	}
}

// stream passes on the events after the one with the id last, until the connection
// breaks. It returns the id of the last one.
func (r *Remote) stream(ctx context.Context, last string, publish func(api.Event)) string {
	within, cancel := context.WithCancel(ctx)
	defer cancel()
	silent := time.AfterFunc(silence, cancel)
	defer silent.Stop()
	header := http.Header{}
	if last != "" {
		header.Set("Last-Event-ID", last)
	}
	resp, err := r.Open(within, http.MethodGet, "/events", header, nil)
	if err != nil {
		return last // the state tells
	}
	defer resp.Body.Close()
	if last == "" {
		publish(r.event(api.Event{Type: client.Missed, Time: time.Now().UTC()}))
	}
	gate := gate{since: time.Now()}
	last, err = client.ReadEvents(&heard{resp.Body, silent}, last, func(_ string, e api.Event) error {
		if slices.Contains(passed, e.Type) {
			publish(r.event(e))
		}
		return gate.wait(within)
	})
	if err == nil {
		err = errors.New("the stream of events has ended")
	}
	if ctx.Err() == nil {
		r.Failed(err)
	}
	return last
}

// event returns an event of the remote as one of the hub.
func (r *Remote) event(e api.Event) api.Event {
	e.Runtime, e.Remote, e.State = "", nil, nil
	tidy(r.config.Name, &e, false)
	if raw, err := json.Marshal(e); err != nil || len(raw) > maxEvent {
		e = api.Event{Type: client.Missed, Time: e.Time}
	}
	return api.Event{Type: api.RemoteEvent, Runtime: r.config.Name, Remote: &e}
}

// heard puts the end of the silence off with each byte.
type heard struct {
	io.Reader
	silent *time.Timer
}

func (h *heard) Read(p []byte) (int, error) {
	n, err := h.Reader.Read(p)
	h.silent.Reset(silence)
	return n, err
}

// gate lets eventBurst events pass in each second.
type gate struct {
	since time.Time
	count int
}

// wait blocks as long as too many events have come, at most a second.
func (g *gate) wait(ctx context.Context) error {
	if g.count++; g.count >= eventBurst {
		select {
		case <-time.After(time.Until(g.since.Add(time.Second))):
		case <-ctx.Done():
		}
		g.since, g.count = time.Now(), 0
	}
	return context.Cause(ctx)
}

// changed tells what has become of the state of a remote.
func (f *follower) changed(c Config, status Status) {
	view := View(c, status)
	f.publish(api.Event{Type: api.RuntimeEvent, Runtime: c.Name, State: &view})
}

// added follows a remote that is new, and tells of it.
func (f *follower) added(r *Remote) {
	f.changed(r.config, r.Status())
	f.mu.Lock()
	defer f.mu.Unlock()
	f.start(r)
}

// removed ends the stream of a remote that is gone, and tells of it.
func (f *follower) removed(name string) {
	f.mu.Lock()
	f.end(name)
	f.mu.Unlock()
	f.publish(api.Event{Type: api.RuntimeEvent, Runtime: name})
}

// Unwrap returns what a "remote" event tells, with the labels that one types on the
// hub: RUNTIME:LABEL. Other events are returned as they are.
func Unwrap(e api.Event) api.Event {
	if e.Type != api.RemoteEvent || e.Remote == nil {
		return e
	}
	in, before := *e.Remote, e.Runtime+":"
	in.Runtime, in.Time = e.Runtime, e.Time
	if in.Workspace != nil {
		w := *in.Workspace
		w.Label = before + w.Label
		in.Workspace = &w
	}
	if in.Session != nil {
		s := *in.Session
		s.WorkspaceName = before + s.WorkspaceName
		in.Session = &s
	}
	if in.Approval != nil {
		a := *in.Approval
		a.Session = before + a.Session
		in.Approval = &a
	}
	if in.Notice != nil {
		n := api.Notice{Items: slices.Clone(in.Notice.Items)}
		for i := range n.Items {
			n.Items[i].WorkspaceName = before + n.Items[i].WorkspaceName
		}
		in.Notice = &n
	}
	return in
}
