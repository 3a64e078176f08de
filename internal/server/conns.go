package server

import (
	"container/list"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"
)

const (
	// maxStrangers bounds the TCP connections whose caller has not
	// authenticated, like MaxStartups of sshd_config(5).
	maxStrangers = 64
	// mostConns bounds TCP connections however many descriptors there are.
	mostConns = 4096
	// strangerLife bounds how long a connection of a sandboxed session may take until it
	// proves whose it is: hooks send their token with the first request.
	strangerLife = 10 * time.Second
)

// defaultConns leaves two thirds of the descriptors to other uses than TCP: a
// viewer also needs a connection to its session's owner, and the Unix socket,
// the database and git must always have some.
func defaultConns() int { return min(mostConns, max(maxStrangers, maxFiles()/3)) }

// conns has the open connections to the server, but for those over the Unix socket.
// There is a limit for those whose caller has not authenticated, and one for the others.
// Over the first the oldest is closed. Over the second it is one of the caller that has
// most, so that none can take the room of another: its idle connection that was not used
// for longest, or its oldest if none is idle.
type conns struct {
	what              string // "over TCP", for people
	maxStrangers, max int
	strangerLife      time.Duration // 0 means that nothing but the limit ends one
	// mu guards the fields below, and those of tcpConn that it names.
	mu        sync.Mutex
	strangers list.List             // the *tcpConn not authenticated, oldest first
	known     map[string]*list.List // the others by subject, the longest unused first
	count     int                   // of known
	closed    int                   // how many of known were closed for the limit
	last      time.Time             // when the last one was, and whose it was
	lastOf    string
}

// tcpConn is one of conns until it is closed.
type tcpConn struct {
	net.Conn
	conns *conns
	once  sync.Once
	timer *time.Timer // ends an unauthenticated one, or one whose credential expires; nil for none
	// conns.mu guards the fields below.
	in      *list.List // conns.strangers or one of conns.known; nil once closed
	place   *list.Element
	subject string    // "" until authenticated
	expires time.Time // when its credential does; zero means never
	busy    bool      // a request is being answered
	over    bool      // its credential has ended: it is closed as soon as it is not busy
}

// admit adds a new connection.
func (c *conns) admit(conn net.Conn) net.Conn {
	t := &tcpConn{Conn: conn, conns: c}
	c.mu.Lock()
	t.in, t.place = &c.strangers, c.strangers.PushBack(t)
	if c.strangerLife > 0 {
		t.timer = time.AfterFunc(c.strangerLife, t.expire)
	}
	var out *tcpConn
	if c.strangers.Len() > c.maxStrangers {
		out = c.strangers.Front().Value.(*tcpConn)
	}
	c.mu.Unlock()
	if out != nil {
		_ = out.Close() // an error changes nothing
	}
	return t
}

// expire closes a connection whose caller has not authenticated in time, or whose
// credential has expired: one that is busy, once its request has ended.
func (t *tcpConn) expire() {
	t.conns.mu.Lock()
	end := t.in == &t.conns.strangers
	if t.in != nil && !end && !t.expires.IsZero() {
		if left := time.Until(t.expires); left > 0 { // the clock was set back
			t.timer.Reset(left)
		} else {
			t.over, end = true, !t.busy
		}
	}
	t.conns.mu.Unlock()
	if end {
		_ = t.Close() // an error changes nothing
	}
}

// prove marks the connection as that of an authenticated caller.
func (t *tcpConn) prove(subject string, expires time.Time) {
	c := t.conns
	c.mu.Lock()
	if t.in == nil {
		c.mu.Unlock()
		return
	}
	t.leave()
	if c.known == nil {
		c.known = map[string]*list.List{}
	}
	if c.known[subject] == nil {
		c.known[subject] = list.New()
	}
	t.subject, t.expires, t.in = subject, expires, c.known[subject]
	t.place = t.in.PushBack(t)
	t.timer = nil
	if !expires.IsZero() {
		t.timer = time.AfterFunc(time.Until(expires), t.expire)
	}
	c.count++
	var out *tcpConn
	if c.count > c.max {
		out = c.surplus(subject)
		c.closed, c.last, c.lastOf = c.closed+1, time.Now(), out.subject
	}
	c.mu.Unlock()
	if out != nil {
		_ = out.Close() // an error changes nothing
	}
}

// surplus returns the connection that makes room for others: one of subject if no other
// has more. The caller holds mu.
func (c *conns) surplus(subject string) *tcpConn {
	most := c.known[subject]
	for _, list := range c.known {
		if list.Len() > most.Len() {
			most = list
		}
	}
	for at := most.Front(); at != nil; at = at.Next() {
		if t := at.Value.(*tcpConn); !t.busy {
			return t
		}
	}
	return most.Front().Value.(*tcpConn)
}

// leave takes the connection out of its list. The caller holds mu.
func (t *tcpConn) leave() {
	if t.in == nil {
		return
	}
	t.in.Remove(t.place)
	if t.in != &t.conns.strangers {
		t.conns.count--
		if t.in.Len() == 0 {
			delete(t.conns.known, t.subject)
		}
	}
	t.in, t.place = nil, nil
	if t.timer != nil {
		t.timer.Stop()
	}
}

// turn notes that a request begins or, if not busy, that its answer is complete. Then it
// closes the connection if its credential has ended.
func (t *tcpConn) turn(busy bool) {
	t.conns.mu.Lock()
	t.busy = busy
	if t.in != nil && t.subject != "" {
		t.in.MoveToBack(t.place)
	}
	end := !busy && (t.over || !t.expires.IsZero() && time.Now().After(t.expires))
	t.conns.mu.Unlock()
	if end {
		_ = t.Close() // an error changes nothing
	}
}

// end closes the connections of a subject: one that is busy, once its request has ended.
func (c *conns) end(subject string) {
	var idle []*tcpConn
	c.mu.Lock()
	if list := c.known[subject]; list != nil {
		for at := list.Front(); at != nil; at = at.Next() {
			t := at.Value.(*tcpConn)
			if t.over = true; !t.busy {
				idle = append(idle, t)
			}
		}
	}
	c.mu.Unlock()
	for _, t := range idle {
		_ = t.Close() // an error changes nothing
	}
}

// reached says that the limit for authenticated callers was reached, "" if it was not.
func (c *conns) reached() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed == 0 {
		return ""
	}
	return fmt.Sprintf("the limit of %d connections %s was reached: %d were closed to make room for others, the last one, of %s, at %s",
		c.max, c.what, c.closed, c.lastOf, c.last.UTC().Format(time.RFC3339))
}

// Close closes the connection and no longer counts it. A second call is harmless.
func (t *tcpConn) Close() error {
	t.once.Do(func() {
		t.conns.mu.Lock()
		t.leave()
		t.conns.mu.Unlock()
	})
	return t.Conn.Close()
}

// NetConn returns the wrapped connection, like tls.Conn.NetConn.
func (t *tcpConn) NetConn() net.Conn { return t.Conn }

// CloseWrite shuts down the writing side. net/http uses it so that the last
// answer arrives although the body was not read.
func (t *tcpConn) CloseWrite() error {
	if half, ok := t.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// limited is a listener that passes its connections through conns.admit.
type limited struct {
	net.Listener
	conns *conns
}

func (l *limited) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return l.conns.admit(conn), nil
}

// limitConns makes what limits the connections of the server.
func (s *Server) limitConns() {
	s.conns = &conns{what: "over TCP", maxStrangers: s.options.MaxStrangers, max: s.options.MaxConns}
	s.ownConns = &conns{
		what: "of sandboxed sessions", maxStrangers: s.options.MaxStrangers, max: max(1, s.options.MaxConns/4), strangerLife: s.options.StrangerLife,
	}
	s.calls.drop = func(subject string) {
		s.logins.drop(subject)
		s.conns.end(subject)
		s.ownConns.end(subject)
	}
}

// admitted wraps the listeners for browsers: it limits their connections, and
// adds TLS above that if it is configured.
func (s *Server) admitted(tcp []net.Listener) []net.Listener {
	admitted := make([]net.Listener, len(tcp))
	for i, l := range tcp {
		admitted[i] = &limited{l, s.conns}
		if s.options.TLS != nil {
			admitted[i] = tls.NewListener(admitted[i], s.options.TLS)
		}
	}
	return admitted
}

// owns returns the listeners for sandboxed sessions. It limits their connections: what
// runs there must not use up the server's descriptors, nor the room of other sessions.
func (s *Server) owns() (all []net.Listener) {
	if own := s.options.Own; own != nil {
		all = append(all, &limited{own, s.ownConns})
	}
	if own := s.options.OwnTCP; own != nil {
		all = append(all, tls.NewListener(&limited{own, s.ownConns}, own.Config))
	}
	return all
}

type connKey struct{}

// withConn puts conn into the context of the requests on it.
func withConn(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, conn)
}

// proved marks r's connection as the caller's.
func proved(r *http.Request, who identity) {
	if t := limitedConn(r.Context().Value(connKey{})); t != nil {
		t.prove(who.subject, who.expires)
	}
}

// connState is http.Server.ConnState.
func connState(conn net.Conn, state http.ConnState) {
	if t := limitedConn(conn); t != nil && (state == http.StateActive || state == http.StateIdle) {
		t.turn(state == http.StateActive)
	}
}

// limitedConn returns the connection below TLS, nil if it is not one of conns.
func limitedConn(conn any) *tcpConn {
	if encrypted, ok := conn.(*tls.Conn); ok {
		conn = encrypted.NetConn()
	}
	t, _ := conn.(*tcpConn)
	return t
}
