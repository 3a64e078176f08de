package egress

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
)

// maxHead bounds the request line and the headers of a request.
const maxHead = 64 << 10

// request is the head of a request to the HTTP proxy. net/http is not used: this
// process is one per session, and has to stay small.
type request struct {
	method string
	target target
	path   string // "" for CONNECT
	fields []field
}

// field is one header line as it came.
type field struct{ name, value string }

// errRequest is in the error of a request that is malformed or not for a proxy.
var errRequest = errors.New("bad request")

// handleHTTP serves one request of a client of the HTTP proxy: CONNECT, or a
// request for an http URL. r reads from c.
func (s *server) handleHTTP(ctx context.Context, c net.Conn, r *bufio.Reader) {
	head, err := readHead(r)
	if err != nil {
		if errors.Is(err, errRequest) {
			refuse(c, "400 Bad Request", err)
		}
		return
	}
	q, err := parseRequest(head)
	if err != nil {
		s.log.add("http", firstLine(head), err.Error())
		refuse(c, "400 Bad Request", err)
		return
	}
	via := "http"
	if q.path == "" {
		via = "connect"
	}
	up, err := s.reach(ctx, c, via, q.target)
	switch {
	case errors.Is(err, errDenied):
		refuse(c, "403 Forbidden", err)
		return
	case err != nil:
		refuse(c, "502 Bad Gateway", err)
		return
	}
	if q.path == "" {
		if _, err := c.Write([]byte("HTTP/1.1 200 Connection established\r\n\r\n")); err != nil {
			up.Close()
			return
		}
		s.relay(c, r, up, q.target)
		return
	}
	if t := s.names.back(q.target); t.port == plainPort {
		secrets := s.masks.of(t)
		unmask(q.fields, secrets)
		q.path = unmaskPath(q.path, secrets)
	}
	if _, err := up.Write(q.forward()); err != nil {
		up.Close()
		return
	}
	s.carry(c, r, up)
}

// refuse answers with an error that the program's user can read.
func refuse(c net.Conn, status string, err error) {
	body := "middleman: " + err.Error() + "\n"
	_, _ = fmt.Fprintf(c, "HTTP/1.1 %s\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s",
		status, len(body), body)
}

// readHead reads lines up to and without the empty one. Each ends with CR LF, and
// has no other control character than a tab. So no server finds another line in it.
func readHead(r *bufio.Reader) (lines []string, err error) {
	left := maxHead
	for {
		line, err := readLine(r, left)
		if err != nil {
			return nil, err
		}
		if line == "" {
			return lines, nil
		}
		left -= len(line)
		lines = append(lines, line)
	}
}

func readLine(r *bufio.Reader, most int) (string, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		line = append(line, part...)
		if len(line) > most {
			return "", fmt.Errorf("%w: a head of over %d bytes", errRequest, maxHead)
		}
		if err == nil {
			break
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return "", err
		}
	}
	text, ok := strings.CutSuffix(string(line), "\r\n")
	if !ok || strings.ContainsFunc(text, func(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f }) {
		return "", fmt.Errorf("%w: a line with a control character", errRequest)
	}
	return text, nil
}

func firstLine(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return lines[0]
}

// parseRequest parses the lines of a head.
func parseRequest(lines []string) (q request, err error) {
	method, rest, ok1 := strings.Cut(firstLine(lines), " ")
	uri, version, ok2 := strings.Cut(rest, " ")
	if !ok1 || !ok2 || !isToken(method) || version != "HTTP/1.1" && version != "HTTP/1.0" {
		return q, fmt.Errorf("%w: the first line is no HTTP/1.1 request", errRequest)
	}
	q.method = method
	if method == "CONNECT" {
		q.target, err = parseAuthority(uri, "")
	} else {
		q.target, q.path, err = parseURI(uri)
	}
	if err != nil {
		return q, fmt.Errorf("%w: %w", errRequest, err)
	}
	if q.fields, err = parseFields(lines[1:]); err != nil {
		return q, err
	}
	if q.count("Content-Length")+q.count("Transfer-Encoding") > 1 {
		return q, fmt.Errorf("%w: the request gives the length of its body twice", errRequest)
	}
	return q, nil
}

func parseFields(lines []string) (fields []field, err error) {
	for _, line := range lines {
		name, value, ok := strings.Cut(line, ":")
		if !ok || !isToken(name) {
			return nil, fmt.Errorf("%w: %q is no header", errRequest, clip(line))
		}
		fields = append(fields, field{name, strings.Trim(value, " \t")})
	}
	return fields, nil
}

// parseURI parses the absolute form of a request's target (RFC 9112, section 3.2.2).
func parseURI(uri string) (t target, path string, err error) {
	scheme, rest, ok := strings.Cut(uri, "://")
	if !ok || !strings.EqualFold(scheme, "http") {
		return t, "", fmt.Errorf("%q is no http URL: this is a proxy, and https goes by CONNECT", clip(uri))
	}
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	authority, path := rest[:end], rest[end:]
	if strings.Contains(path, "#") || strings.ContainsFunc(path, func(c rune) bool { return c <= ' ' || c > '~' }) {
		return t, "", fmt.Errorf("%q has characters that a URL cannot have", clip(uri))
	}
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	t, err = parseAuthority(authority, "80")
	return t, path, err
}

// parseAuthority parses HOST:PORT. defaultPort is for a host alone; "" requires one.
// A user name before the host is refused, as is all else that is no host.
func parseAuthority(s, defaultPort string) (target, error) {
	host, port, ok := splitPort(s)
	if !ok {
		if defaultPort == "" {
			return target{}, fmt.Errorf("%q has no port", clip(s))
		}
		port = defaultPort
	}
	n, err := parsePort(port)
	if err != nil {
		return target{}, err
	}
	return parseTarget(host, n)
}

// isToken reports whether s is a method or the name of a header (RFC 9110, section
// 5.6.2).
func isToken(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(c rune) bool {
		return (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && !strings.ContainsRune("!#$%&'*+-.^_`|~", c)
	})
}

func (q request) count(name string) (n int) {
	for _, f := range q.fields {
		if strings.EqualFold(f.name, name) {
			n++
		}
	}
	return n
}

// hopFields are not for the next server (RFC 9110, section 7.6.1). Host is written
// anew from the target that was checked.
var hopFields = []string{"host", "connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection", "te", "upgrade"}

// forward returns the head for the server. It asks the server to close the
// connection after the response, because a further request on the connection could
// be for another host.
func (q request) forward() []byte {
	var b strings.Builder
	host := strings.TrimSuffix(q.target.String(), ":80")
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: %s\r\n", q.method, q.path, host)
	for _, f := range q.fields {
		if !slices.Contains(hopFields, strings.ToLower(f.name)) {
			fmt.Fprintf(&b, "%s: %s\r\n", f.name, f.value)
		}
	}
	b.WriteString("Connection: close\r\n\r\n")
	return []byte(b.String())
}
