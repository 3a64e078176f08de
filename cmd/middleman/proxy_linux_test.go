package main

import (
	"maps"
	"net"
	"sync"
	"testing"
	"time"
)

// proxy passes connections on, and harms them as told.
type proxy struct {
	address string

	mu     sync.Mutex // guards the fields below
	moved  sync.Cond  // on mu
	target string
	conns  map[net.Conn]bool
	stuck  map[net.Conn]bool // nothing passes on these, not even their end
	delay  time.Duration     // before each part
	stall  bool              // nothing passes
	small  bool              // parts of a few bytes
	away   bool              // it takes no connection
	bytes  int64             // that came from the target
	ended  bool
	wg     sync.WaitGroup
}

func newProxy(t testing.TB, target string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{address: l.Addr().String(), target: target, conns: map[net.Conn]bool{}, stuck: map[net.Conn]bool{}}
	p.moved.L = &p.mu
	p.wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			p.wg.Go(func() { p.pass(conn) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		p.set(func() { p.ended = true })
		p.cut()
		p.wg.Wait()
	})
	return p
}

// set changes what the proxy does.
func (p *proxy) set(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
	p.moved.Broadcast()
}

// cut breaks all connections.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for conn := range p.conns {
		conn.Close()
	}
}

// freeze lets nothing more pass on the present connections: neither end hears of
// the other.
func (p *proxy) freeze() { p.set(func() { maps.Copy(p.stuck, p.conns) }) }

// refuse breaks all connections and takes no other, until accept.
func (p *proxy) refuse() {
	p.set(func() { p.away = true })
	p.cut()
}

func (p *proxy) accept() { p.set(func() { p.away = false }) }

func (p *proxy) pass(a net.Conn) {
	p.mu.Lock()
	target := p.target
	p.mu.Unlock()
	b, err := net.Dial("tcp", target)
	p.mu.Lock()
	away := p.away
	p.mu.Unlock()
	if err == nil && away {
		b.Close()
	}
	if err != nil || away {
		a.Close()
		return
	}
	p.set(func() { p.conns[a], p.conns[b] = true, true })
	var both sync.WaitGroup
	both.Go(func() { p.copy(b, a, false) })
	both.Go(func() { p.copy(a, b, true) })
	both.Wait()
	p.set(func() { delete(p.conns, a); delete(p.conns, b) })
}

// copy ends when either connection does, and closes both.
func (p *proxy) copy(to, from net.Conn, counted bool) {
	defer to.Close()
	defer from.Close()
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		p.mu.Lock()
		for (p.stall || p.stuck[from]) && !p.ended {
			p.moved.Wait()
		}
		delay, small := p.delay, p.small
		if counted {
			p.bytes += int64(n)
		}
		p.mu.Unlock()
		if delay > 0 {
			<-time.After(delay) // the time that the line takes
		}
		for part := buf[:n]; len(part) > 0; {
			k := len(part)
			if small {
				k = min(k, 7)
			}
			if _, err := to.Write(part[:k]); err != nil {
				return
			}
			part = part[k:]
		}
		if err != nil {
			return
		}
	}
}
