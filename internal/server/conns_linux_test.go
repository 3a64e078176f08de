package server_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"middleman/internal/server"
	"middleman/internal/store"
)

// sockets is how many this process has open.
func sockets(t *testing.T) (n int) {
	t.Helper()
	list, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range list {
		if to, err := os.Readlink(fd); err == nil && strings.HasPrefix(to, "socket:") { // else it was closed meanwhile
			n++
		}
	}
	return n
}

// until waits for the server to end a connection, and returns what it said.
func until(t *testing.T, conn net.Conn) string {
	t.Helper()
	if err := conn.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	said, err := io.ReadAll(conn)
	if e, ok := errors.AsType[net.Error](err); ok && e.Timeout() {
		t.Fatalf("the server did not end the connection; it said %q", said)
	}
	return string(said)
}

// Whoever has not proved who it is holds no more than a few connections, and
// never one for a body that does not come; the socket and those who have
// proved it are answered meanwhile.
func TestStrangersHoldNothing(t *testing.T) {
	r := newPlace(t).serve(t, func(o *server.Options) { o.MaxStrangers, o.MaxConns = 8, 16 })
	bearer := "Bearer " + r.token(store.ScopeFull, "", time.Hour)
	r.call("GET", "/health", nil) // the socket's connection, which is kept
	before := sockets(t)
	const half = "POST /api/v1/login-links HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000\r\n%s\r\n{"
	for name, text := range map[string]string{
		"nothing said":                 "",
		"half a header":                "GET / HTTP/1.1\r\nHost: 127",
		"a body that never comes":      fmt.Sprintf(half, ""),
		"with a wrong token":           fmt.Sprintf(half, "Authorization: Bearer wrong\r\n"),
		"of a foreign page":            fmt.Sprintf(half, "Origin: http://evil.example\r\n"),
		"chunks that never come":       "POST /api/v1/logout HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",
		"the body of a GET":            "GET /api/v1/health HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000\r\n\r\n",
		"a body for the static client": "POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			var list []net.Conn
			for range 100 {
				list = append(list, r.knock(text))
			}
			if a := r.call("GET", "/workspaces", nil); a.status != 200 {
				t.Errorf("over the socket: %d %s", a.status, a.body)
			}
			if a := r.browse("GET", "/api/v1/workspaces", nil, "Authorization", bearer); a.status != 200 {
				t.Errorf("with a token: %d %s", a.status, a.body)
			}
			ends := list[:len(list)-8] // the last may wait for their ten seconds
			if strings.Contains(text, "\r\n\r\n") {
				ends = list
			}
			for _, conn := range ends {
				until(t, conn)
			}
			for _, conn := range list {
				conn.Close()
			}
		})
	}
	for end := time.Now().Add(2 * patience); sockets(t) > before; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d sockets, %d before", sockets(t), before)
		}
	}
}

// A body that stops coming is given up, whoever sends it.
func TestBodyThatStalls(t *testing.T) {
	r := newPlace(t).serve(t, func(o *server.Options) { o.BodyTimeout = 100 * time.Millisecond })
	head := "Host: 127.0.0.1\r\nContent-Length: 1000\r\nAuthorization: Bearer " + r.token(store.ScopeFull, "", time.Hour) + "\r\n\r\n{"
	if said := until(t, r.knock("POST /api/v1/workspaces HTTP/1.1\r\n"+head)); !strings.Contains(said, "did not arrive whole") {
		t.Errorf("over TCP: %q", said)
	}
	conn, err := net.Dial("unix", r.place.dirs.ServerSocket())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "POST /api/v1/workspaces HTTP/1.1\r\n"+head); err != nil {
		t.Fatal(err)
	}
	if said := until(t, conn); !strings.Contains(said, "did not arrive whole") {
		t.Errorf("over the socket: %q", said)
	}
}
