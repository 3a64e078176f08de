package runtimes

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"middleman/internal/api"
	"middleman/internal/app"
	"middleman/internal/audit"
	"middleman/internal/runtime"
	"middleman/internal/store"
)

// Server is what the routes need of the server.
type Server interface {
	// Describe describes an operation. One that changes something needs the scope
	// full, another one the scope read.
	Describe(method, path, id, summary string) huma.Operation
	// OnRuntime returns the metadata of an operation on a runtime: it needs the scope
	// that the same operation needs here.
	OnRuntime(local map[string]any) map[string]any
	// Problem returns the error for the answer that err means.
	Problem(ctx context.Context, err error) huma.StatusError
	// Refuse answers with the problem that err means.
	Refuse(w http.ResponseWriter, r *http.Request, err error)
	// OnSocket reports whether the caller is a process of this user on the Unix
	// socket; MayAttach returns nil if it may type at sessions.
	OnSocket(ctx context.Context) bool
	MayAttach(r *http.Request) error
	// Guest reports whether the caller may only watch, and so has a limited place at
	// a session.
	Guest(r *http.Request) bool
	// Viewing runs view, and ends its context when the server stops.
	Viewing(ctx context.Context, view func(context.Context) error) error
}

// routes are the routes of one server.
type routes struct {
	api         huma.API
	set         *runtime.Set
	server      Server
	subprotocol string
}

// Path is the path parameter of a remote runtime.
type Path struct {
	Runtime string `path:"runtime" doc:"Name of a remote runtime"`
}

type addIn struct {
	Key  string `header:"Idempotency-Key" doc:"A second request with the same key gets the first one's answer"`
	Body api.NewRuntime
}

type empty struct{}

type reply[T any] struct{ Body T }

// Add adds all routes to a. The operations that are passed on must be in it
// already. subprotocol is the WebSocket subprotocol of terminals.
func Add(a huma.API, set *runtime.Set, server Server, subprotocol string) {
	rs := &routes{api: a, set: set, server: server, subprotocol: subprotocol}
	register(rs, server.Describe(http.MethodGet, "/runtimes", "list-runtimes", "Remote runtimes, by name"), rs.list)
	create := server.Describe(http.MethodPost, "/runtimes", "add-runtime", "Add a remote runtime")
	create.DefaultStatus = http.StatusCreated
	create.Description = "Over the Unix socket only. The runtime is asked once; the answer has its state, and it is added whatever that is."
	register(rs, create, rs.add)
	remove := server.Describe(http.MethodDelete, "/runtimes/{runtime}", "remove-runtime", "Forget a remote runtime; nothing changes there")
	remove.Description = "Over the Unix socket only."
	register(rs, remove, rs.remove)
	overview := server.Describe(http.MethodGet, "/overview", "overview", "What all remote runtimes have: their workspaces and sessions")
	overview.Description = "The runtimes are asked at the same time. Of one that does not answer in time the last answer is told, marked as such. This server's own workspaces and sessions are not in it."
	register(rs, overview, rs.overview)
	register(rs, server.Describe(http.MethodPost, "/runtimes/{runtime}/check", "check-runtime", "Ask a remote runtime whether it can be used"), rs.check)
	rs.forwardAll()
}

func register[I, O any](rs *routes, op huma.Operation, handle func(context.Context, *I) (*O, error)) {
	huma.Register(rs.api, op, func(ctx context.Context, in *I) (*O, error) {
		out, err := handle(ctx, in)
		if err != nil {
			return nil, rs.server.Problem(ctx, err)
		}
		return out, nil
	})
}

func (rs *routes) list(ctx context.Context, _ *empty) (*reply[api.Runtimes], error) {
	list, err := rs.set.List(ctx)
	out := api.Runtimes{Runtimes: []api.Runtime{}}
	for _, r := range list {
		out.Runtimes = append(out.Runtimes, rs.view(ctx, r.Config(), r.Status()))
	}
	return &reply[api.Runtimes]{out}, err
}

// onSocket refuses what says whom this server connects to, and which files it
// reads, unless it comes over the Unix socket.
func (rs *routes) onSocket(ctx context.Context) error {
	if !rs.server.OnSocket(ctx) {
		return app.Refusef(api.CodeForbidden, "runtimes are added and removed over the Unix socket only: use `middleman runtime`")
	}
	return nil
}

func none(name string) error {
	return app.Refusef(api.CodeNotFound, "there is no runtime %q; `middleman runtime list` lists them", name)
}

// find returns the remote with that name.
func (rs *routes) find(ctx context.Context, name string) (*runtime.Remote, error) {
	r, err := rs.set.Get(ctx, name)
	if errors.Is(err, runtime.ErrNotFound) {
		return nil, none(name)
	}
	return r, err
}

func (rs *routes) add(ctx context.Context, in *addIn) (*reply[api.Runtime], error) {
	if err := rs.onSocket(ctx); err != nil {
		return nil, err
	}
	audit.Note(ctx, "name "+in.Body.Name+" address "+in.Body.Address)
	c := runtime.Config{
		Name: in.Body.Name, Address: strings.TrimSuffix(in.Body.Address, "/"), Pin: in.Body.Pin, TokenFile: in.Body.TokenFile,
		Command: in.Body.Command, CreatedAt: time.Now().UTC(),
	}
	if err := c.Check(); err != nil {
		return nil, app.Refusef(api.CodeBadRequest, "%v", err)
	}
	r, err := rs.set.Add(ctx, c)
	if errors.Is(err, store.ErrNameTaken) {
		return nil, app.Refusef(api.CodeNameTaken, "there is a runtime %s already: remove it first, or choose another name", c.Name)
	}
	if err != nil {
		return nil, err
	}
	return &reply[api.Runtime]{rs.view(ctx, c, r.Check(ctx))}, nil
}

func (rs *routes) remove(ctx context.Context, in *Path) (*empty, error) {
	_, err := rs.find(ctx, in.Runtime)
	if err == nil {
		err = rs.onSocket(ctx)
	}
	if err != nil {
		return nil, err
	}
	err = rs.set.Remove(ctx, in.Runtime)
	if errors.Is(err, store.ErrNotFound) {
		err = none(in.Runtime)
	}
	return nil, err
}

func (rs *routes) check(ctx context.Context, in *Path) (*reply[api.Runtime], error) {
	r, err := rs.find(ctx, in.Runtime)
	if err != nil {
		return nil, err
	}
	return &reply[api.Runtime]{rs.view(ctx, r.Config(), r.Check(ctx))}, nil
}

// view shows a runtime. Only a process of this user is told its address.
func (rs *routes) view(ctx context.Context, c runtime.Config, status runtime.Status) api.Runtime {
	v := runtime.View(c, status)
	if rs.server.OnSocket(ctx) {
		v.Address = c.Address
	}
	return v
}

// patience is how long an overview waits for a runtime, unless it is told otherwise;
// longestPatience what it can be told.
const (
	patience        = 2 * time.Second
	longestPatience = 30 * time.Second
)

type overviewIn struct {
	Wait string `query:"wait" doc:"How long to wait for each runtime, such as 5s; at most 30s. Unset means 2s"`
}

// overview asks all runtimes at once. One that is slow or gone delays the answer no
// longer than the caller wants.
func (rs *routes) overview(ctx context.Context, in *overviewIn) (*reply[api.Overview], error) {
	within := patience
	if in.Wait != "" {
		d, err := duration("wait", in.Wait)
		if err != nil {
			return nil, err
		}
		within = min(d, longestPatience)
	}
	list, err := rs.set.List(ctx)
	out := api.Overview{Runtimes: make([]api.RuntimeList, len(list))}
	var asked sync.WaitGroup
	for i, r := range list {
		asked.Go(func() {
			l, current := r.List(ctx, within)
			out.Runtimes[i] = runtime.Told(rs.view(ctx, r.Config(), r.Status()), l, current)
		})
	}
	asked.Wait()
	return &reply[api.Overview]{out}, err
}
