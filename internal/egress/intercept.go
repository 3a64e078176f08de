package egress

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"
)

// How a secret gets to its host:
//
//  1. A connection to a host with secrets ends at the proxy. It begins with TLS, except
//     on port 80: nobody on the way may read a value that its user gave for TLS. The
//     proxy checks the host's own certificate first, and then answers the program with
//     one of the sandbox's authority.
//  2. Each request must be for that host: its Host header too, or a host that shares the
//     address would get the value. Its length must be told once, or the next server
//     could see another request in its body.
//  3. Placeholders in headers, path and query become values. Bodies pass unchanged.
//  4. Responses pass unchanged: a host that sends a value back reveals it.
//
// What the proxy does not understand ends the connection. Nothing but these requests
// has a value.

const (
	// tlsHandshake is the first byte of a TLS connection. No HTTP method begins with it.
	tlsHandshake = 0x16
	// plainPort is the only port on which a secret travels without TLS.
	plainPort = 80
)

// relay carries a connection to a target: by requests if there are secrets for it, else
// as bytes. r reads what c has.
func (s *server) relay(c net.Conn, r *bufio.Reader, up net.Conn, t target) {
	t = s.names.back(t)
	secrets := s.masks.of(t)
	if len(secrets) == 0 {
		s.carry(c, r, up)
		return
	}
	if !s.keep(up) {
		up.Close()
		return
	}
	defer s.forget(up)
	if err := s.converse(c, r, up, t, secrets); err != nil {
		s.log.add("secret", t.String(), err.Error())
		reset(c)
	}
}

// converse carries the requests of a connection to a host with secrets.
func (s *server) converse(c net.Conn, r *bufio.Reader, up net.Conn, t target, secrets []masked) error {
	deadline := time.Now().Add(s.limits.request)
	if err := errors.Join(c.SetDeadline(deadline), up.SetDeadline(deadline)); err != nil {
		return nil // it has ended
	}
	first, err := r.Peek(1)
	if err != nil {
		return nil
	}
	client, host := c, up
	switch secure := first[0] == tlsHandshake; {
	case !secure && t.port != plainPort:
		return fmt.Errorf("%w: it is not encrypted, and only port %d may have a secret then", errRequest, plainPort)
	case secure:
		if client, host, err = s.secure(buffered{c, r}, up, t); err != nil {
			return err
		}
		r = bufio.NewReader(client)
	}
	if err := errors.Join(c.SetDeadline(time.Time{}), up.SetDeadline(time.Time{})); err != nil {
		return nil
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		both := &carrier{idle: s.limits.idle, moved: time.Now()}
		both.copy(client, host, host)
		c.Close() // the program sees the end of the answer, and asks nothing more
	}()
	err = forwardRequests(host, r, t, secrets)
	if half, ok := host.(interface{ CloseWrite() error }); err != nil || !ok || half.CloseWrite() != nil {
		up.Close()
	}
	<-ended
	return err
}

// secure ends the program's TLS here, and begins one with the host.
func (s *server) secure(c, up net.Conn, t target) (client, host net.Conn, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), s.limits.request)
	defer cancel()
	outer := tls.Client(up, &tls.Config{MinVersion: tls.VersionTLS12, ServerName: t.name, NextProtos: []string{"http/1.1"}, RootCAs: s.roots})
	if err := outer.HandshakeContext(ctx); err != nil {
		return nil, nil, fmt.Errorf("TLS with the host: %w", err)
	}
	config, err := s.masks.serve(t.name)
	if err != nil {
		return nil, nil, err
	}
	inner := tls.Server(c, config)
	if err := inner.HandshakeContext(ctx); err != nil {
		return nil, nil, fmt.Errorf("TLS with the program, which has to trust the sandbox's authority and to speak HTTP/1.1: %w", err)
	}
	return inner, outer, nil
}

// buffered is a connection of which a reader has read a part.
type buffered struct {
	net.Conn
	r *bufio.Reader
}

func (b buffered) Read(p []byte) (int, error) { return b.r.Read(p) }

// forwardRequests forwards requests to a host until the program asks no more.
func forwardRequests(host io.Writer, r *bufio.Reader, t target, secrets []masked) error {
	for {
		head, err := readHead(r)
		if errors.Is(err, errRequest) {
			return err
		}
		if err != nil {
			return nil // the program has ended the connection
		}
		q, err := parseInner(head, t)
		if err != nil {
			return err
		}
		length, chunked, err := q.body()
		if err != nil {
			return err
		}
		unmask(q.fields, secrets)
		if _, err := io.WriteString(host, q.innerHead(secrets)); err != nil {
			return nil
		}
		switch {
		case q.count("Upgrade") > 0: // from here on it is another protocol
			_, _ = io.Copy(host, r)
			return nil
		case chunked:
			err = copyChunks(host, r)
		default:
			_, err = io.CopyN(host, r, length)
		}
		if errors.Is(err, errRequest) {
			return err
		}
		if err != nil {
			return nil
		}
	}
}

// parseInner parses a request to one host.
func parseInner(lines []string, t target) (q request, err error) {
	method, rest, _ := strings.Cut(firstLine(lines), " ")
	path, version, _ := strings.Cut(rest, " ")
	if !isToken(method) || method == "CONNECT" || method == "TRACE" || version != "HTTP/1.1" && version != "HTTP/1.0" ||
		path != "*" && !strings.HasPrefix(path, "/") || strings.ContainsFunc(path, func(c rune) bool { return c <= ' ' || c > '~' }) {
		return q, fmt.Errorf("%w: the first line is no request that can have a secret", errRequest)
	}
	q = request{method: method, target: t, path: path}
	if q.fields, err = parseFields(lines[1:]); err != nil {
		return q, err
	}
	hosts := 0
	for _, f := range q.fields {
		if !strings.EqualFold(f.name, "Host") {
			continue
		}
		named, err := parseAuthority(f.value, strconv.Itoa(int(t.port)))
		if hosts++; err != nil || named != t || hosts > 1 {
			return q, fmt.Errorf("%w: the Host header is %q on a connection to %s", errRequest, clip(f.value), t)
		}
	}
	if hosts == 0 {
		return q, fmt.Errorf("%w: it has no Host header", errRequest)
	}
	return q, nil
}

// innerHead is the head of the request for the host.
func (q request) innerHead(secrets []masked) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\n", q.method, unmaskPath(q.path, secrets))
	for _, f := range q.fields {
		fmt.Fprintf(&b, "%s: %s\r\n", f.name, f.value)
	}
	b.WriteString("\r\n")
	return b.String()
}

// body tells how long the body of a request is.
func (q request) body() (length int64, chunked bool, err error) {
	if q.count("Content-Length")+q.count("Transfer-Encoding") > 1 {
		return 0, false, fmt.Errorf("%w: the request gives the length of its body twice", errRequest)
	}
	for _, f := range q.fields {
		switch strings.ToLower(f.name) {
		case "transfer-encoding":
			if !strings.EqualFold(f.value, "chunked") {
				return 0, false, fmt.Errorf("%w: transfer encoding %q", errRequest, clip(f.value))
			}
			return 0, true, nil
		case "content-length":
			n, err := strconv.ParseUint(f.value, 10, 63)
			if err != nil || strconv.FormatUint(n, 10) != f.value {
				return 0, false, fmt.Errorf("%w: content length %q", errRequest, clip(f.value))
			}
			return int64(n), false, nil
		}
	}
	return 0, false, nil
}

// copyChunks copies a body in chunks (RFC 9112, section 7.1), without extensions of
// chunks.
func copyChunks(w io.Writer, r *bufio.Reader) error {
	for {
		line, err := readLine(r, maxHead)
		if err != nil {
			return err
		}
		size, _, _ := strings.Cut(line, ";")
		size = strings.TrimRight(size, " \t")
		n, err := strconv.ParseUint(size, 16, 63)
		if err != nil || strings.ContainsAny(size, "+-_") {
			return fmt.Errorf("%w: a chunk of %q bytes", errRequest, clip(size))
		}
		if _, err := fmt.Fprintf(w, "%x\r\n", n); err != nil {
			return err
		}
		if n == 0 {
			break
		}
		if _, err := io.CopyN(w, r, int64(n)); err != nil {
			return err
		}
		end := make([]byte, 2)
		if _, err := io.ReadFull(r, end); err != nil {
			return err
		}
		if string(end) != "\r\n" {
			return fmt.Errorf("%w: a chunk is longer than it says", errRequest)
		}
		if _, err := w.Write(end); err != nil {
			return err
		}
	}
	trailer, err := readHead(r)
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, strings.Join(slices.Concat(trailer, []string{"", ""}), "\r\n"))
	return err
}
