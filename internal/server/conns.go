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
	// maxStrangers is how many TCP connections may wait to prove who they are,
	// like MaxStartups of sshd.
	maxStrangers = 64
	// mostConns bounds TCP connections where descriptors do not.
	mostConns = 4096
)

// defaultConns leaves two thirds of the descriptors to what is not TCP: a
// viewer has a connection to its session's owner beside the one to us, and the
// Unix socket, the database and git must always find some.
func defaultConns() int { return min(mostConns, max(maxStrangers, maxFiles()/3)) }

// conns are the TCP connections to the server. Over a limit the oldest of
// those that have not proved who they are goes; where all have, a new one does.
type conns struct {
	maxStrangers, max int
	// mu guards the fields below, and tcpConn.place.
	mu        sync.Mutex
	open      int
	strangers list.List // of *tcpConn, oldest first
	turned    int       // connections closed for a limit, ever
}

// tcpConn is one of conns until it is closed.
type tcpConn struct {
	net.Conn
	conns *conns
	place *list.Element // among the strangers, nil once proved or gone
	once  sync.Once
}

// admit takes a new connection in. It returns nil where there is no room, and
// then has closed it.
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
		_ = out.Close() // nobody is owed to learn how that went
	}
	if out == t {
		return nil
	}
	return t
}

// prove says that whoever is at the other end has shown a right credential.
func (t *tcpConn) prove() {
	t.conns.mu.Lock()
	defer t.conns.mu.Unlock()
	if t.place != nil {
		t.conns.strangers.Remove(t.place)
		t.place = nil
	}
}

// Close ends the connection and gives its place away.
func (t *tcpConn) Close() error {
	t.once.Do(func() {
		t.prove()
		t.conns.mu.Lock()
		t.conns.open--
		t.conns.mu.Unlock()
	})
	return t.Conn.Close()
}

// NetConn is what is below, as of a tls.Conn.
func (t *tcpConn) NetConn() net.Conn { return t.Conn }

// CloseWrite lets net/http see to it that a last answer arrives although the
// body was not read.
func (t *tcpConn) CloseWrite() error {
	if half, ok := t.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// limited is a listener that admits connections.
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

// admitted is what browsers connect to: limited before anything is said, then
// encrypted where that is asked for.
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

type connKey struct{}

// withConn puts the connection of its requests into a context.
func withConn(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, conn)
}

// proved notes that the caller of r is known, so that its connection is kept.
func proved(r *http.Request) {
	conn := r.Context().Value(connKey{})
	if encrypted, ok := conn.(*tls.Conn); ok {
		conn = encrypted.NetConn()
	}
	if t, ok := conn.(*tcpConn); ok {
		t.prove()
	}
}
