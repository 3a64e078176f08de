//go:build linux

package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"
)

// request is an HTTP request as it goes over the wire.
type request struct {
	method, path string
	// host is the Host header; "" is the server's own, "-" none.
	host string
	// headers are whole lines, and may be repeated or malformed.
	headers []string
	body    string
}

// answer is what came back. err is set where it was no answer at all.
type answer struct {
	status int
	header http.Header
	body   string
	err    error
}

func (a answer) String() string {
	if a.err != nil {
		return "no answer: " + a.err.Error()
	}
	told := ""
	for _, name := range []string{"Location", "Set-Cookie", "Access-Control-Allow-Origin", "Content-Type"} {
		if v := a.header.Get(name); v != "" {
			told += fmt.Sprintf(", %s: %s", name, v)
		}
	}
	return fmt.Sprintf("status %d%s\n%s", a.status, told, cut(a.body, 400))
}

func cut(s string, n int) string {
	if len(s) > n {
		return s[:n] + "..."
	}
	return s
}

// wire is the request's bytes.
func (r request) wire(addr string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\n", r.method, r.path)
	switch r.host {
	case "-":
	case "":
		fmt.Fprintf(&b, "Host: %s\r\n", addr)
	default:
		fmt.Fprintf(&b, "Host: %s\r\n", r.host)
	}
	for _, line := range r.headers {
		b.WriteString(line + "\r\n")
	}
	if r.body != "" && !slices.ContainsFunc(r.headers, func(h string) bool {
		l := strings.ToLower(h)
		return strings.HasPrefix(l, "content-length") || strings.HasPrefix(l, "transfer-encoding")
	}) {
		fmt.Fprintf(&b, "Content-Length: %d\r\n", len(r.body))
	}
	b.WriteString("\r\n" + r.body)
	return b.String()
}

// send sends r over TCP on a connection of its own.
func (s *server) send(r request) answer {
	return s.sendRaw(r.method, r.wire(s.addr))
}

// sendRaw sends bytes and reads one answer.
func (s *server) sendRaw(method, raw string) answer {
	conn, err := net.DialTimeout("tcp", s.at, patience)
	if err != nil {
		return answer{err: err}
	}
	defer conn.Close()
	return exchange(conn, method, raw)
}

func exchange(conn net.Conn, method, raw string) answer {
	must(conn.SetDeadline(time.Now().Add(patience)))
	if _, err := io.WriteString(conn, raw); err != nil && !errors.Is(err, net.ErrClosed) {
		return readAnswer(bufio.NewReader(conn), method, err) // it may have answered before it closed
	}
	return readAnswer(bufio.NewReader(conn), method, nil)
}

func readAnswer(r *bufio.Reader, method string, before error) answer {
	resp, err := http.ReadResponse(r, &http.Request{Method: method})
	if err != nil {
		return answer{err: errors.Join(err, before)}
	}
	a := answer{status: resp.StatusCode, header: resp.Header}
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") || resp.StatusCode == http.StatusSwitchingProtocols {
		return a // it does not end
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, 4<<20))
	a.body = string(body)
	if err != nil && before == nil {
		a.err = err
	}
	return a
}

// local sends a request over the server's Unix socket: the owner's way.
func (s *server) local(method, path, body string, headers ...string) answer {
	conn, err := net.DialTimeout("unix", s.socket(), patience)
	if err != nil {
		return answer{err: err}
	}
	defer conn.Close()
	if body != "" {
		headers = append(headers, "Content-Type: application/json")
	}
	return exchange(conn, method, request{method: method, path: path, host: "localhost", headers: headers, body: body}.wire(""))
}

// wants returns evidence unless the answer has one of the statuses.
func (a answer) wants(what string, statuses ...int) error {
	if a.err == nil && slices.Contains(statuses, a.status) {
		return nil
	}
	return fmt.Errorf("%s: want status %v, got %s", what, statuses, a)
}

// refused returns evidence unless the request was answered with a refusal, or
// with nothing: the connection closed.
func (a answer) refused(what string) error {
	if a.err != nil || a.status >= 400 && a.status < 500 || a.status == http.StatusNotImplemented || a.status == http.StatusHTTPVersionNotSupported {
		return nil
	}
	return fmt.Errorf("%s: not refused: %s", what, a)
}
