package server

import (
	"container/list"
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"sync"
)

const (
	// maxStrangers bounds the TCP connections whose caller has not
	// authenticated, like MaxStartups of sshd_config(5).
	maxStrangers = 64
	// mostConns bounds TCP connections however many descriptors there are.
	mostConns = 4096
)

// defaultConns leaves two thirds of the descriptors to other uses than TCP: a
// viewer also needs a connection to its session's owner, and the Unix socket,
// the database and git must always have some.
func defaultConns() int { return min(mostConns, max(maxStrangers, maxFiles()/3)) }

// conns has the open TCP connections to the server. Over a limit, it closes the
// oldest connection whose caller has not authenticated. That is the new one, if
// all others have.
type conns struct {
	maxStrangers, max int
	// mu guards the fields below, and tcpConn.place.
	mu        sync.Mutex
	open      int
	strangers list.List // the *tcpConn not authenticated, oldest first
	turned    int       // how many connections were closed for a limit
}

// tcpConn is one of conns until it is closed.
type tcpConn struct {
	net.Conn
	conns *conns
	place *list.Element // in conns.strangers; nil once authenticated or closed
	once  sync.Once
}

// admit adds a new connection. If there is no room for it, admit closes it and
// returns nil.
func (c *conns) admit(conn net.Conn) net.Conn {
	t := &tcpConn{Conn: conn, conns: c}
	c.mu.Lock()
	c.open++
	t.place = c.strangers.PushBack(t)
	var out *tcpConn
	if c.open > c.max || c.strangers.Len() > c.maxStrangers {
		out = c.strangers.Front().Value.(*tcpConn)
		c.turned++
	}
	c.mu.Unlock()
	if out != nil {
		_ = out.Close() // an error changes nothing
	}
	if out == t {
		return nil
	}
	return t
}

// prove marks the connection as authenticated.
func (t *tcpConn) prove() {
	t.conns.mu.Lock()
	defer t.conns.mu.Unlock()
	if t.place != nil {
		t.conns.strangers.Remove(t.place)
		t.place = nil
	}
}

// Close closes the connection and no longer counts it. A second call is harmless.
func (t *tcpConn) Close() error {
	t.once.Do(func() {
		t.prove()
		t.conns.mu.Lock()
		t.conns.open--
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
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if conn = l.conns.admit(conn); conn != nil {
			return conn, nil
		}
	}
}

// admitted wraps the listeners for browsers: it limits their connections, and
// adds TLS above that if it is configured.
func (s *Server) admitted(tcp []net.Listener) []net.Listener {
	all := &conns{maxStrangers: s.options.MaxStrangers, max: s.options.MaxConns}
	admitted := make([]net.Listener, len(tcp))
	for i, l := range tcp {
		admitted[i] = &limited{l, all}
		if s.options.TLS != nil {
			admitted[i] = tls.NewListener(admitted[i], s.options.TLS)
		}
	}
	return admitted
}

// owns returns the listeners for sandboxed sessions. It limits their connections: what
// runs there must not use up the server's descriptors.
func (s *Server) owns() (all []net.Listener) {
	admitted := func(l net.Listener) net.Listener {
		return &limited{l, &conns{maxStrangers: s.options.MaxStrangers, max: max(1, s.options.MaxConns/4)}}
	}
	if own := s.options.Own; own != nil {
		all = append(all, admitted(own))
	}
	if own := s.options.OwnTCP; own != nil {
		all = append(all, tls.NewListener(admitted(own), own.Config))
	}
	return all
}

type connKey struct{}

// withConn puts conn into the context of the requests on it.
func withConn(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, conn)
}

// proved marks r's connection as authenticated, so that limits do not close it.
func proved(r *http.Request) {
	conn := r.Context().Value(connKey{})
	if encrypted, ok := conn.(*tls.Conn); ok {
		conn = encrypted.NetConn()
	}
	if t, ok := conn.(*tcpConn); ok {
		t.prove()
	}
}
