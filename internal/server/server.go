// Package server is middleman's HTTP API over package app. It authenticates and
// authorizes callers, turns requests into calls of app, and turns errors into
// problems (RFC 9457). It decides nothing about workspaces and sessions.
//
// A request passes, in this order: the response headers (headers.go), the
// recovery of panics (problem.go), the Host and origin checks (guard.go),
// authentication (auth.go), the limits of its body (body.go), which is read only
// if the caller may use the route, its Idempotency-Key (idempotency.go), authorization (routes.go), the audit log
// (audited.go), and its handler (routes_*.go). problem.go alone turns errors
// into statuses.
package server

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"golang.org/x/sync/errgroup"

	"middleman/internal/app"
	"middleman/internal/audit"
	"middleman/internal/listen"
	"middleman/internal/pinned"
	"middleman/internal/runtime"
	"middleman/internal/webpush"
)

// Options are the parts and the settings of a server.
type Options struct {
	// Options.Store may be closed after Serve returned.
	app.Options
	// Web serves the web client, at every path that is not the API's; nil for none.
	Web http.Handler
	// HubsAlone refuses logins of browsers, and remote runtimes: the server works for
	// hubs, and for the commands of this machine.
	HubsAlone bool
	Version   string
	// Instance is Listeners.Instance. It is part of the text that browsers sign
	// to log in, so that a signature is valid for this data directory alone.
	Instance string
	// LoginIdle is how long an unused login stays valid; 0 means seven days.
	LoginIdle time.Duration
	// Hosts are further host names of the server, for requests over TCP.
	Hosts []string
	// Port is Listeners.Port. nil stands for a port that no other program ever
	// has; browsers then use the server's address instead of a name.
	Port *listen.Port
	// Own is Listeners.Own: over it a request has only the rights of the session
	// whose token it has. nil means that there is no such socket.
	Own net.Listener
	// OwnTCP is Listeners.OwnTCP: it takes what Own takes. nil means that there is none.
	OwnTCP *pinned.Listener
	// TLS is the configuration for TCP connections; nil means no encryption.
	TLS *tls.Config
	// AllowRemote accepts any IP address as Host, for a listener beyond loopback.
	AllowRemote bool
	// MaxStrangers bounds the open TCP connections whose caller has not
	// authenticated; 0 means 64. MaxConns bounds all other TCP connections; 0 means a
	// third of the file descriptors that the process may have.
	MaxStrangers, MaxConns int
	// StrangerLife bounds how long a connection of a sandboxed session may take until it
	// sends its token; 0 means ten seconds.
	StrangerLife time.Duration
	// BodyTimeout bounds how long a request's body may take to arrive; for the
	// long body of an input, how long each part may take. 0 means a minute.
	BodyTimeout time.Duration
	// Audit records who was admitted and who was refused; nil records nothing.
	// Serve closes it.
	Audit *audit.Log
	// LogFile is the path of the file that Log writes to, or "". Errors name it
	// only over the Unix socket.
	LogFile string
	// Waiting returns the settings that were changed since this process read
	// them; nil means that none can be.
	Waiting func() ([]string, error)
	// PushPrivate lets push services have private addresses, see webpush.Check.
	PushPrivate bool
	// SSH is the program that reaches runtimes by ssh; "" means ssh, in PATH.
	SSH string
	// End makes the caller of Serve end its context and, with restart, then start
	// the server again, as the program at that path if it is not "". nil means that it
	// cannot.
	End func(restart bool, program string) error
}

// Server answers the API. Make one with New.
type Server struct {
	*app.App
	options Options
	api     huma.API
	handler http.Handler
	calls   calls
	logins  *logins
	push    *webpush.Sender
	// runtimes has the remote runtimes.
	runtimes *runtime.Set
	// linkFiles has the login pages in the runtime directory.
	linkFiles *linkFiles
	// conns has the connections over TCP, and ownConns those of sandboxed sessions.
	conns, ownConns *conns
	bodies          bodies
	seats           seats
	ready           chan struct{}
	since           time.Time
	// tokens is held while tokens are looked up and changed, so that no two get
	// the same name.
	tokens sync.Mutex
	// mu guards the fields below.
	mu       sync.Mutex
	follows  bool                // the events of remote runtimes, for notices
	address  string              // "" until Serve was called
	tokenUse map[string][]string // by token: the addresses it was used from
}

const (
	readHeaderTimeout = 10 * time.Second
	idleTimeout       = 2 * time.Minute
	// maxHeaderBytes is enough for all cookies that a browser keeps for a host.
	// A page on another port of the host can set that many, and they must not
	// make the server refuse requests.
	maxHeaderBytes = 1 << 20
	// shutdownGrace bounds how long requests, and the operations they started,
	// may take to end when the server stops.
	shutdownGrace = 10 * time.Second
)

// New returns a server. It does nothing until Serve is called.
func New(o Options) (*Server, error) {
	push := webpush.New(o.Store, o.PushPrivate, cmp.Or(o.Log, slog.Default()))
	o.Push = push.Tell
	core, err := app.New(o.Options)
	if err != nil {
		return nil, err
	}
	if o.LoginIdle == 0 {
		o.LoginIdle = loginIdle
	}
	if o.Port == nil {
		o.Port = &listen.Port{}
	}
	if o.Web == nil {
		o.Web = http.NotFoundHandler()
	}
	if o.MaxStrangers == 0 {
		o.MaxStrangers = maxStrangers
	}
	if o.MaxConns == 0 {
		o.MaxConns = defaultConns()
	}
	if o.StrangerLife == 0 {
		o.StrangerLife = strangerLife
	}
	if o.BodyTimeout == 0 {
		o.BodyTimeout = bodyTimeout
	}
	s := &Server{
		App:       core,
		push:      push,
		options:   o,
		logins:    newLogins(),
		linkFiles: newLinkFiles(o.Dirs.Runtime),
		tokenUse:  map[string][]string{},
		ready:     make(chan struct{}),
		since:     time.Now().UTC(),
	}
	s.limitConns()
	s.runtimes = runtime.NewSet(o.Store, cmp.Or(o.SSH, "ssh"), core.Log, s.publishRemote)
	s.handler = s.routes()
	return s, nil
}

// Ready returns a channel that is closed once Serve answers requests.
func (s *Server) Ready() <-chan struct{} { return s.ready }

// Serve answers on unix and on all tcp listeners (at least one) until ctx ends,
// and returns nil then; sessions go on. It closes the listeners, except when it
// returns an error before it is ready. unix may be nil on a platform that cannot
// tell which user connects to it. In the background, Serve finds all sessions
// again. Call it once.
func (s *Server) Serve(ctx context.Context, unix net.Listener, tcp ...net.Listener) error {
	s.setAddress(tcp[0].Addr())
	defer s.recordStart()()
	if err := s.CleanPath(ctx); err != nil { // before any program is started
		return err
	}
	if err := s.beginPort(ctx); err != nil {
		return err
	}
	if err := s.linkFiles.sweep(); err != nil {
		return fmt.Errorf("remove login links that the previous server left: %w", err)
	}
	rows, err := s.Recall(ctx)
	if err != nil {
		return fmt.Errorf("read the state that the previous server left: %w", err)
	}
	requests, cancelRequests := context.WithCancel(context.WithoutCancel(ctx))
	defer cancelRequests()
	g, ctx := errgroup.WithContext(ctx)
	servers := []*http.Server{s.httpServer(requests, byTCP)}
	serve := func(h *http.Server, l net.Listener) {
		g.Go(func() error {
			if err := h.Serve(l); !errors.Is(err, http.ErrServerClosed) {
				return fmt.Errorf("serve on %s: %w", l.Addr(), err)
			}
			return nil
		})
	}
	for _, l := range s.admitted(tcp) {
		serve(servers[0], l)
	}
	if unix != nil {
		servers = append(servers, s.httpServer(requests, bySocket))
		serve(servers[len(servers)-1], unix)
	}
	for _, own := range s.owns() {
		servers = append(servers, s.httpServer(requests, byOwnSocket))
		serve(servers[len(servers)-1], own)
	}
	g.Go(func() error {
		s.Resume(ctx, rows)
		return nil
	})
	g.Go(func() error {
		s.push.Run(ctx)
		return nil
	})
	if err := s.followRemotes(ctx); err != nil {
		return err
	}
	g.Go(func() error {
		<-ctx.Done()
		s.Leave()
		cancelRequests() // ends event streams, long polls and viewers
		s.shutdown(servers)
		return nil
	})
	close(s.ready)
	return g.Wait()
}

func (s *Server) httpServer(base context.Context, by way) *http.Server {
	return &http.Server{
		Handler:           s.handler,
		ReadHeaderTimeout: readHeaderTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(s.Log.Handler(), slog.LevelDebug),
		BaseContext: func(net.Listener) context.Context {
			return context.WithValue(base, wayKey{}, by)
		},
		ConnContext: withConn,
		ConnState:   connState,
	}
}

func (s *Server) shutdown(servers []*http.Server) {
	ctx, cancel := context.WithTimeout(context.Background(), shutdownGrace)
	defer cancel()
	var wg sync.WaitGroup
	for _, h := range servers {
		wg.Go(func() {
			if err := h.Shutdown(ctx); err != nil {
				s.Log.Warn("requests were cut off", "error", errors.Join(err, h.Close()))
			}
		})
	}
	wg.Wait()
	s.Stop(ctx)
	s.runtimes.Close()
	s.logins.stop()
	if err := s.linkFiles.sweep(); err != nil {
		s.Log.Warn("remove login links", "error", err)
	}
}

func (s *Server) setAddress(a net.Addr) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.address = a.String()
}

// tcpAddress returns the host:port where browsers reach the server.
func (s *Server) tcpAddress() (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.address == "" {
		return "", errors.New("the server does not listen yet")
	}
	return s.address, nil
}
