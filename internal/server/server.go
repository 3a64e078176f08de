package server

import (
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
)

// Options are what a server is made of.
type Options struct {
	// Options.Store may be closed after Serve returned.
	app.Options
	// Web serves the web client, at every path that is not the API's.
	Web     http.Handler
	Version string
	// Instance is Listeners.Instance; it is in what browsers sign to log in, so
	// that it counts for this data directory alone.
	Instance string
	// LoginIdle is how long a login lasts that nobody uses; 0 is seven days.
	LoginIdle time.Duration
	// Hosts are further names that the server may be reached by over TCP.
	Hosts []string
	// Port is Listeners.Port; nil is a port that nobody else ever has, whose
	// address browsers know the server by.
	Port *listen.Port
	// TLS encrypts what comes over TCP, with this certificate; nil does not.
	TLS *tls.Config
	// AllowRemote takes any IP address as Host, for a listener beyond loopback.
	AllowRemote bool
	// MaxStrangers is how many TCP connections may be open whose caller has not
	// proved who it is, 0 for 64; MaxConns how many at all, 0 for a third of
	// the descriptors that the process may have.
	MaxStrangers, MaxConns int
	// BodyTimeout is how long the body of a request may take to arrive, and
	// that of a long one to go on; 0 is a minute.
	BodyTimeout time.Duration
	// Audit is where it is recorded who came in and who was refused; nil means
	// nowhere. Serve closes it.
	Audit *audit.Log
	// LogFile is the file that Log writes to, "" where it is none. It is named
	// only over the Unix socket.
	LogFile string
}

// Server answers the API. Make one with New.
type Server struct {
	*app.App
	options Options
	api     huma.API
	handler http.Handler
	calls   calls
	logins  *logins
	// linkFiles are in the runtime directory.
	linkFiles *linkFiles
	inputs    inputs
	ready     chan struct{}
	// tokens is held while tokens are looked up and changed, so that names stay
	// single.
	tokens sync.Mutex
	// mu guards the fields below.
	mu       sync.Mutex
	address  string              // "" until Serve was called
	tokenUse map[string][]string // by token, from where it was used
}

const (
	readHeaderTimeout = 10 * time.Second
	idleTimeout       = 2 * time.Minute
	// maxHeaderBytes lets through all cookies that a browser keeps for a host:
	// any page on another of its ports can plant them, and they are no reason
	// not to answer.
	maxHeaderBytes = 1 << 20
	// shutdownGrace is how long requests and what they started may take to
	// end once the server was asked to.
	shutdownGrace = 10 * time.Second
)

// New returns a server that does nothing yet.
func New(o Options) (*Server, error) {
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
	if o.BodyTimeout == 0 {
		o.BodyTimeout = bodyTimeout
	}
	s := &Server{
		App:       core,
		options:   o,
		logins:    newLogins(),
		linkFiles: newLinkFiles(o.Dirs.Runtime),
		tokenUse:  map[string][]string{},
		ready:     make(chan struct{}),
	}
	s.calls.drop = s.logins.drop
	s.handler = s.routes()
	return s, nil
}

// Ready is closed once Serve has begun to answer.
func (s *Server) Ready() <-chan struct{} { return s.ready }

// Serve answers on both listeners until ctx ends, and closes them unless it
// could not begin. unix may be nil on a platform that cannot tell who is at
// its other end. In the background it finds every session again. It returns nil after ctx ended;
// sessions go on. It may be called once.
func (s *Server) Serve(ctx context.Context, unix net.Listener, tcp ...net.Listener) error {
	s.setAddress(tcp[0].Addr())
	defer s.recordStart()()
	if err := s.beginPort(ctx); err != nil {
		return err
	}
	if err := s.linkFiles.sweep(); err != nil {
		return fmt.Errorf("remove login links that the server before left: %w", err)
	}
	rows, err := s.Recall(ctx)
	if err != nil {
		return fmt.Errorf("read what the server before left: %w", err)
	}
	requests, cancelRequests := context.WithCancel(context.WithoutCancel(ctx))
	defer cancelRequests()
	g, ctx := errgroup.WithContext(ctx)
	servers := []*http.Server{s.httpServer(requests, false)}
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
		servers = append(servers, s.httpServer(requests, true))
		serve(servers[1], unix)
	}
	g.Go(func() error {
		s.Resume(ctx, rows)
		return nil
	})
	g.Go(func() error {
		<-ctx.Done()
		cancelRequests() // event streams, long polls and viewers end now
		s.shutdown(servers)
		return nil
	})
	close(s.ready)
	return g.Wait()
}

func (s *Server) httpServer(base context.Context, socket bool) *http.Server {
	return &http.Server{
		Handler:           s.handler,
		ReadHeaderTimeout: readHeaderTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(s.Log.Handler(), slog.LevelDebug),
		BaseContext: func(net.Listener) context.Context {
			return context.WithValue(base, socketKey{}, socket)
		},
		ConnContext: withConn,
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

// tcpAddress is where browsers reach the server.
func (s *Server) tcpAddress() (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.address == "" {
		return "", errors.New("the server does not listen yet")
	}
	return s.address, nil
}
