package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"middleman/internal/api"
	"middleman/internal/events"
	"middleman/internal/runtime"
	"middleman/internal/store"
	"middleman/internal/webpush"
)

// heartbeat is the interval of comments on a stream without events, by which the
// client sees that the connection is alive.
const heartbeat = 15 * time.Second

// eventResync is the type of the event that tells a client that it missed events,
// and must load everything again.
const eventResync = "resync"

// EventsHeader is the parameter that says after which event a stream begins.
type EventsHeader struct {
	LastEventID string `header:"Last-Event-ID" doc:"The id of the last event that was seen"`
}

// eventsQuery is the query of the stream of all events.
type eventsQuery struct {
	EventsHeader
	Runtimes bool `query:"runtimes" doc:"Also what happens on remote runtimes, with the types remote and runtime. The server follows the events of the runtimes as long as somebody asks for them"`
}

func eventRoute(path, id, summary string) huma.Operation {
	op := route(http.MethodGet, path, id, summary, accessRead)
	op.Description = "Server-sent events. The data of each is an Event, its SSE event name is the Event's type. " +
		`"resync" means that events are missing: read everything again.`
	op.Responses = answerOf("text/event-stream", "An endless stream of events")
	return op
}

// answerOf documents the answer of a stream, whose type huma cannot infer.
func answerOf(contentType, description string) map[string]*huma.Response {
	return map[string]*huma.Response{"200": {
		Description: description,
		Content:     map[string]*huma.MediaType{contentType: {Schema: &huma.Schema{Type: huma.TypeString}}},
	}}
}

// eventStream streams the events after the one with id last, or from now on if
// that is "": those of one workspace, or all if workspaceID is "", and if asked for
// also those of remote runtimes.
func (s *Server) eventStream(last, workspaceID string, remotes bool) *stream {
	return raw(func(w http.ResponseWriter, r *http.Request) {
		if remotes {
			release, err := s.runtimes.Follow(r.Context())
			if err != nil {
				refuse(w, s.problem(err))
				return
			}
			defer release()
		}
		w.Header().Set("Content-Type", "text/event-stream")
		e := &eventWriter{hub: s.Events, out: w, control: http.NewResponseController(w), workspace: workspaceID, remotes: remotes}
		// It ends only when the client has left or the server stops.
		_ = e.run(r.Context(), last)
	})
}

// eventWriter writes one client's stream.
type eventWriter struct {
	hub       *events.Hub
	out       io.Writer
	control   *http.ResponseController
	workspace string
	remotes   bool
}

func (e *eventWriter) run(ctx context.Context, last string) error {
	seq := e.hub.Now()
	if last == "" {
		// By an id without data, a client that reconnects continues from here.
		if _, err := fmt.Fprintf(e.out, "retry: 1000\nid: %s\n\n", e.hub.ID(seq)); err != nil {
			return err
		}
	} else if n, ok := e.hub.Parse(last); ok {
		seq = n
	} else if err := e.resync(seq); err != nil {
		return err
	}
	tick := time.NewTicker(heartbeat)
	defer tick.Stop()
	for {
		list, whole, head, changed := e.hub.After(seq)
		if err := e.send(list, whole, head); err != nil {
			return err
		}
		seq = head
		if err := e.control.Flush(); err != nil {
			return err
		}
		select {
		case <-changed:
		case <-tick.C:
			if _, err := io.WriteString(e.out, ":\n\n"); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (e *eventWriter) send(list []events.Record, whole bool, head uint64) error {
	if !whole {
		return e.resync(head)
	}
	for _, r := range list {
		remote := r.Event.Type == api.RemoteEvent || r.Event.Type == api.RuntimeEvent
		if e.workspace != "" && r.Workspace != e.workspace || remote && !e.remotes {
			continue
		}
		if err := e.write(r.Seq, r.Event); err != nil {
			return err
		}
	}
	return nil
}

func (e *eventWriter) resync(seq uint64) error {
	return e.write(seq, api.Event{Type: eventResync, Time: time.Now().UTC()})
}

func (e *eventWriter) write(seq uint64, event api.Event) error {
	data, err := json.Marshal(event)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(e.out, "id: %s\nevent: %s\ndata: %s\n\n", e.hub.ID(seq), event.Type, data)
	return err
}

// publishRemote publishes an event of a remote runtime. What agents there need goes to
// the user's command and browsers too.
func (s *Server) publishRemote(e api.Event) {
	s.Events.Publish("", e)
	if n := runtime.Unwrap(e).Notice; n != nil {
		s.PassNotice(*n)
	}
}

// followRemotes follows the events of remote runtimes from now on, if the user's
// command or a browser wants to be told what agents there need.
func (s *Server) followRemotes(ctx context.Context) error {
	list, err := s.Store.Subscriptions(ctx, time.Now())
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.follows || len(list) == 0 && len(s.Notify) == 0 {
		return nil
	}
	if _, err := s.runtimes.Follow(ctx); err != nil {
		return fmt.Errorf("read which runtimes there are: %w", err)
	}
	s.follows = true
	return nil
}

func (s *Server) pushRoutes() {
	add(s, route(http.MethodGet, "/push-subscription", "get-push-subscription", "Whether notices are pushed to the browser of this login", accessFull), s.getPush)
	put := route(http.MethodPut, "/push-subscription", "set-push-subscription", "Push notices to the browser of this login, until the login ends", accessFull)
	put.Description = "Only for a browser's login. The endpoint must be at a public address (setting notify.push_private). The subscription of a browser that its push service no longer knows (404, 410) is removed."
	add(s, put, s.putPush)
	add(s, route(http.MethodDelete, "/push-subscription", "delete-push-subscription", "Push nothing more to the browser of this login", accessFull), s.deletePush)
}

// pushLogin returns the login of a request on its browser's subscription.
func pushLogin(ctx context.Context) (string, error) {
	who, _ := caller(ctx)
	login, ok := strings.CutPrefix(who.subject, "login:")
	if !ok {
		return "", problemf(api.CodeForbidden, "notices are pushed to a browser that is logged in, and this request has no login")
	}
	return login, nil
}

func (s *Server) getPush(ctx context.Context, _ *empty) (*reply[api.Subscription], error) {
	login, err := pushLogin(ctx)
	if err != nil {
		return nil, err
	}
	key, err := s.push.PublicKey(ctx)
	if err != nil {
		return nil, err
	}
	out := api.Subscription{ServerKey: key, Problem: s.push.Failure(login)}
	kept, err := s.Store.Subscription(ctx, login)
	if err == nil {
		out.Endpoint, out.Content = kept.Endpoint, kept.Content
	} else if !errors.Is(err, store.ErrNotFound) {
		return nil, err
	}
	return &reply[api.Subscription]{out}, nil
}

type subscriptionIn struct {
	Body api.NewSubscription
}

func (s *Server) putPush(ctx context.Context, in *subscriptionIn) (*empty, error) {
	login, err := pushLogin(ctx)
	if err != nil {
		return nil, err
	}
	wanted := store.Subscription{
		Login: login, Endpoint: in.Body.Endpoint, Key: in.Body.Key, Auth: in.Body.Auth, Content: in.Body.Content, CreatedAt: time.Now(),
	}
	if err := webpush.Check(wanted, s.options.PushPrivate); err != nil {
		return nil, problemf(api.CodeBadRequest, "%v", err)
	}
	if err := s.Store.SetSubscription(ctx, wanted); err != nil {
		return nil, err
	}
	return &empty{}, s.followRemotes(ctx)
}

func (s *Server) deletePush(ctx context.Context, _ *empty) (*empty, error) {
	login, err := pushLogin(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.Store.DeleteSubscription(ctx, login, ""); !errors.Is(err, store.ErrNotFound) {
		return &empty{}, err
	}
	return &empty{}, nil
}
