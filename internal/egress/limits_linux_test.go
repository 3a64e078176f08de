package egress

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// serveOne serves the proxies of p on a socket of this machine.
func serveOne(t *testing.T, p *proxy) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := newServer(p)
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.serve(context.Background(), l, s.handleProxy)
	}()
	t.Cleanup(func() {
		l.Close()
		s.closeAll()
		<-done
	})
	return l.Addr().String()
}

// client connects to addr and sends a text.
func client(t *testing.T, addr, send string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err == nil {
		err = c.SetDeadline(time.Now().Add(patience))
	}
	if err == nil {
		_, err = io.WriteString(c, send)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// read reads until want came.
func read(t *testing.T, c net.Conn, want string) {
	t.Helper()
	buf := make([]byte, len(want))
	if n, err := io.ReadFull(c, buf); err != nil || string(buf) != want {
		t.Fatalf("read %q, %v; want %q", buf[:n], err, want)
	}
}

// answered returns a connection on which a text was sent and want has come. On a busy
// machine the proxy may have given up one before.
func answered(t *testing.T, addr, send, want string) (c net.Conn) {
	t.Helper()
	eventually(t, "an answer in time", func() bool {
		var err error
		if c, err = net.Dial("tcp", addr); err != nil {
			t.Fatal(err)
		}
		if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
			t.Fatal(err)
		}
		got := make([]byte, len(want))
		if _, err = io.WriteString(c, send); err == nil {
			_, err = io.ReadFull(c, got)
		}
		if err != nil {
			c.Close()
			return false
		}
		if string(got) != want {
			t.Fatalf("read %q, want %q", got, want)
		}
		return true
	})
	t.Cleanup(func() { c.Close() })
	return c
}

const (
	connectRegistry = "CONNECT registry.example:443 HTTP/1.1\r\n\r\n"
	connected       = "HTTP/1.1 200 Connection established\r\n\r\nUP 93.184.216.34:443\n"
)

// ended waits until the other end has closed the connection.
func ended(t *testing.T, c net.Conn) {
	t.Helper()
	if rest, err := io.ReadAll(c); len(rest) > 0 || os.IsTimeout(err) {
		t.Errorf("read %q, %v; want the end", rest, err)
	}
}

func TestSlowClients(t *testing.T) {
	const request = 100 * time.Millisecond
	p, _ := newTestProxy(t, testList, limits{connections: 10, request: request, idle: patience})
	addr := serveOne(t, p)
	for name, send := range map[string]string{
		"nothing":           "",
		"half a request":    "CONNECT regi",
		"half a header":     "CONNECT registry.example:443 HTTP/1.1\r\nA",
		"half a greeting":   "\x05\x02\x00",
		"half of SOCKS":     "\x05\x01\x00\x05\x01",
		"half of a name":    "\x05\x01\x00\x05\x01\x00\x03\x10regi",
		"a greeting, alone": "\x05\x01\x00",
	} {
		t.Run(name, func(t *testing.T) {
			answer := ""
			if strings.HasPrefix(send, "\x05\x01") {
				answer = "\x05\x00"
			}
			ended(t, answered(t, addr, send, answer))
		})
	}
	// Who has said where it wants to go has time.
	c := answered(t, addr, connectRegistry, connected)
	time.AfterFunc(2*request, func() { _, _ = io.WriteString(c, "late") })
	read(t, c, "late")
}

func TestConnectionsAtOnce(t *testing.T) {
	p, _ := newTestProxy(t, testList, limits{connections: 2, request: patience, idle: patience})
	addr := serveOne(t, p)
	first, second := client(t, addr, connectRegistry), client(t, addr, connectRegistry)
	read(t, first, connected)
	read(t, second, connected)
	third, err := net.Dial("tcp", addr)
	if err == nil {
		_, err = io.ReadAll(third)
		third.Close()
	}
	if !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("a third connection: %v, want a reset", err)
	}
	first.Close()
	eventually(t, "a free slot", func() bool {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			return false
		}
		defer c.Close()
		_, _ = io.WriteString(c, connectRegistry)
		got, err := io.ReadAll(io.LimitReader(c, int64(len(connected))))
		return err == nil && string(got) == connected
	})
	denied, err := ReadDenials(p.log.path, 10)
	if err != nil || len(denied) == 0 || denied[0].Rule != "too many connections at once" {
		t.Errorf("denials %+v, %v", denied, err)
	}
}

func TestIdle(t *testing.T) {
	p, _ := newTestProxy(t, testList, limits{connections: 2, request: patience, idle: 100 * time.Millisecond})
	ended(t, answered(t, serveOne(t, p), connectRegistry, connected))
}

// An equal denial is only counted for a while, and the log stays within its bound.
func TestLogIsBounded(t *testing.T) {
	p, _ := newTestProxy(t, testList, usual)
	d := p.log
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	d.now = func() time.Time { return now }
	for range 3 {
		d.add("dns", "evil.test", "why")
	}
	now = now.Add(repeatAfter)
	d.add("dns", "evil.test", "why")
	d.add("dns", strings.Repeat("x", 10000), "long")
	got, err := ReadDenials(d.path, 10)
	if err != nil || len(got) != 3 || got[0].Again != 0 || got[1].Again != 2 || len(got[2].Target) > 100 {
		t.Errorf("denials %+v, %v", got, err)
	}
	for i := range 5000 {
		d.add("dns", strconv.Itoa(i)+".test", "why")
	}
	if len(d.recent) > maxRecent {
		t.Errorf("%d denials are remembered, want %d at most", len(d.recent), maxRecent)
	}
	for _, path := range []string{d.path, d.path + older} {
		info, err := os.Stat(path)
		if err != nil || info.Size() > maxLog+1000 {
			t.Errorf("%s: %v, %v", path, info, err)
		}
	}
	got, err = ReadDenials(d.path, 10)
	if err != nil || len(got) != 10 || got[9].Target != "4999.test" {
		t.Errorf("denials %+v, %v", got, err)
	}
}

func FuzzParseDenials(f *testing.F) {
	f.Add([]byte(`{"via":"dns","target":"evil.test","rule":"why"}` + "\n{\n\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		for _, d := range parseDenials(raw) {
			if d.Via == "" {
				t.Errorf("%+v was read from %q", d, raw)
			}
		}
	})
}

// Names below a star get addresses up to a bound.
func TestNamesAreBounded(t *testing.T) {
	p, _ := newTestProxy(t, testList, usual)
	for i := range maxNames {
		p.answer(ask("n"+strconv.Itoa(i)+".example.org", typeA))
	}
	r := p.answer(ask("more.example.org", typeA))
	if len(r) < 4 || r[3]&0xf != rcodeFailed {
		t.Errorf("response %x", r)
	}
	if r := p.answer(ask("registry.example", typeA)); len(r) < 4 || r[3]&0xf != 0 {
		t.Errorf("response %x", r)
	}
}
