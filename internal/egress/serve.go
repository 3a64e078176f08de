package egress

import (
	"bufio"
	"context"
	"io"
	"net"
	"sync"
	"time"
)

// limits bound what a program can make the proxy keep.
type limits struct {
	// connections at once. A further one is closed at once.
	connections int
	// request is how long a program may take to say where it wants to go.
	request time.Duration
	// idle is how long a connection may carry nothing in either direction.
	idle time.Duration
}

// usual are the limits of a session's proxy.
var usual = limits{connections: 512, request: 30 * time.Second, idle: time.Hour}

// server accepts on the sockets inside. Its zero value is not usable.
type server struct {
	*proxy
	slots chan struct{} // one element for each open connection
	wg    sync.WaitGroup

	mu     sync.Mutex // guards all below
	open   map[net.Conn]bool
	closed bool
}

func newServer(p *proxy) *server {
	return &server{proxy: p, slots: make(chan struct{}, p.limits.connections), open: map[net.Conn]bool{}}
}

// serve accepts connections on l until it is closed, and lets handle carry each.
func (s *server) serve(ctx context.Context, l net.Listener, handle func(context.Context, net.Conn)) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		select {
		case s.slots <- struct{}{}:
		default:
			s.log.add("direct", c.LocalAddr().String(), "too many connections at once")
			reset(c)
			continue
		}
		if !s.keep(c) {
			<-s.slots
			c.Close()
			return
		}
		s.wg.Go(func() {
			defer func() { <-s.slots }()
			defer s.forget(c)
			handle(ctx, c)
		})
	}
}

// keep remembers an open connection. It is false once all are closed.
func (s *server) keep(c net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.open[c] = true
	}
	return !s.closed
}

func (s *server) forget(c net.Conn) {
	c.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, c)
}

// closeAll closes every connection, also those that come later, and waits for
// what handles them.
func (s *server) closeAll() {
	s.mu.Lock()
	s.closed = true
	for c := range s.open {
		c.Close()
	}
	s.mu.Unlock()
	s.wg.Wait()
}

// handleProxy serves a client of the HTTP or the SOCKS5 proxy. The first byte tells
// them apart: no HTTP method begins with 5.
func (s *server) handleProxy(ctx context.Context, c net.Conn) {
	if c.SetDeadline(time.Now().Add(s.limits.request)) != nil {
		return
	}
	r := bufio.NewReader(c)
	first, err := r.Peek(1)
	if err != nil {
		return
	}
	if first[0] == socksVersion {
		s.handleSOCKS(ctx, c, r)
		return
	}
	s.handleHTTP(ctx, c, r)
}

// handleDirect carries a connection to the address of a name.
func (s *server) handleDirect(ctx context.Context, c net.Conn) {
	at, ok := c.LocalAddr().(*net.TCPAddr)
	if !ok {
		return
	}
	local := at.AddrPort()
	t := s.names.back(target{addr: local.Addr().Unmap(), port: local.Port()})
	if _, allowed := s.rules.match(t); t.name == "" && !allowed {
		reset(c) // the sandbox's own loopback, where nothing of the program listens
		return
	}
	up, err := s.connect(ctx, "direct", t)
	if err != nil {
		reset(c)
		return
	}
	s.relay(c, bufio.NewReader(c), up, t)
}

// reach connects to a target for the program behind c, which has said all that it
// has to say in time.
func (s *server) reach(ctx context.Context, c net.Conn, via string, t target) (net.Conn, error) {
	if err := c.SetDeadline(time.Time{}); err != nil {
		return nil, err
	}
	return s.connect(ctx, via, s.names.back(t))
}

// reset closes a connection so that the other end sees an error, not an end.
func reset(c net.Conn) {
	if t, ok := c.(*net.TCPConn); ok {
		_ = t.SetLinger(0)
	}
	c.Close()
}

// carry copies between a program's connection and the one to its target, until
// both directions have ended, one of them fails, or nothing moves for the idle
// time. It closes both. fromClient reads what client has.
func (s *server) carry(client net.Conn, fromClient io.Reader, up net.Conn) {
	if !s.keep(up) {
		up.Close()
		return
	}
	defer s.forget(up)
	both := &carrier{idle: s.limits.idle, moved: time.Now()}
	var wg sync.WaitGroup
	wg.Go(func() { both.copy(client, up, up) })
	both.copy(up, fromClient, client)
	wg.Wait()
}
