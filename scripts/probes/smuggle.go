//go:build linux

package main

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// smuggled are requests whose body holds a second one for a reader that
// measures otherwise. INNER stands for it, CHUNK for it in a body of one chunk
// whose first line has 5 bytes.
var smuggled = []struct{ name, title, raw string }{
	{"cl-te", "a Content-Length that ends within the first chunk", "POST /api/v1/health HTTP/1.1\r\nHost: ADDR\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\nCHUNK"},
	{"te-cl", "the same, the length last", "POST /api/v1/health HTTP/1.1\r\nHost: ADDR\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\nCHUNK"},
	{"chunk-extension", "a request in a chunk's extension", "POST /api/v1/health HTTP/1.1\r\nHost: ADDR\r\nTransfer-Encoding: chunked\r\n\r\n3;x=\nabc\n0\n\nINNER"},
	{"trailer", "a request in the trailers", "POST /api/v1/health HTTP/1.1\r\nHost: ADDR\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nContent-Length: 0\nX: \n\rINNER"},
	{"two-lengths", "two Content-Lengths", "POST /api/v1/health HTTP/1.1\r\nHost: ADDR\r\nContent-Length: 0\r\nContent-Length: 5\r\n\r\nINNER"},
	{"length-list", "a Content-Length of two numbers", "POST /api/v1/health HTTP/1.1\r\nHost: ADDR\r\nContent-Length: 0, 5\r\n\r\nINNER"},
	{"length-plus", "a Content-Length with a sign", "POST /api/v1/health HTTP/1.1\r\nHost: ADDR\r\nContent-Length: +0\r\n\r\nINNER"},
	{"length-hex", "a Content-Length in base 16", "POST /api/v1/health HTTP/1.1\r\nHost: ADDR\r\nContent-Length: 0x0\r\n\r\nINNER"},
	{"length-negative", "a Content-Length below zero", "POST /api/v1/health HTTP/1.1\r\nHost: ADDR\r\nContent-Length: -1\r\n\r\nINNER"},
	{"length-space", "a space before the colon", "POST /api/v1/health HTTP/1.1\r\nHost: ADDR\r\nContent-Length : 0\r\n\r\nINNER"},
	{"te-unknown", "an encoding that there is not", "POST /api/v1/health HTTP/1.1\r\nHost: ADDR\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\nINNER"},
	{"te-identity", "chunked, and not", "POST /api/v1/health HTTP/1.1\r\nHost: ADDR\r\nTransfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\nINNER"},
	{"te-two", "two Transfer-Encodings", "POST /api/v1/health HTTP/1.1\r\nHost: ADDR\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\nINNER"},
	{"te-folded", "a folded Transfer-Encoding", "POST /api/v1/health HTTP/1.1\r\nHost: ADDR\r\nTransfer-Encoding:\r\n chunked\r\nContent-Length: 0\r\n\r\nINNER"},
	{"te-vertical-tab", "a Transfer-Encoding after a vertical tab", "POST /api/v1/health HTTP/1.1\r\nHost: ADDR\r\nTransfer-Encoding: \x0bchunked\r\nContent-Length: 0\r\n\r\nINNER"},
	{"chunk-size", "a chunk's size past 64 bits", "POST /api/v1/health HTTP/1.1\r\nHost: ADDR\r\nTransfer-Encoding: chunked\r\n\r\n10000000000000000\r\nINNER"},
	{"chunk-negative", "a chunk's size below zero", "POST /api/v1/health HTTP/1.1\r\nHost: ADDR\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\nINNER"},
	{"header-nul", "a NUL in a header", "GET /api/v1/health HTTP/1.1\r\nHost: ADDR\r\nX: a\x00b\r\n\r\nINNER"},
	{"header-no-colon", "a header without a colon", "GET /api/v1/health HTTP/1.1\r\nHost: ADDR\r\nX\r\n\r\nINNER"},
	{"header-bare-cr", "a bare CR in a header", "GET /api/v1/health HTTP/1.1\r\nHost: ADDR\r\nX: a\rAuthorization: b\r\n\r\nINNER"},
	{"line-in-path", "a line break in the path", "GET /api/v1/health\r\nX: HTTP/1.1\r\nHost: ADDR\r\n\r\nINNER"},
	{"preface-h2", "HTTP/2 from the first byte", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\nINNER"},
}

func smuggleProbes() []probe {
	probes := []probe{{id: "control", title: "a second request on the same connection is answered, with a login", control: true,
		gain: "nothing: it shows that a second request that got through would be seen", run: func(w *world) error {
			s := must1(w.shared())
			if got := secondAnswers(s, "GET /api/v1/health HTTP/1.1\r\nHost: ADDR\r\n\r\nINNER"); !strings.Contains(got, s.workspace) {
				return fmt.Errorf("two requests in a row were answered with %q", got)
			}
			return nil
		}}}
	for _, x := range smuggled {
		probes = append(probes, probe{id: x.name, title: x.title, gain: "a request of the attacker's behind a proxy, on somebody else's connection and around its checks",
			run: func(w *world) error {
				s := must1(w.shared())
				if got := secondAnswers(s, x.raw); strings.Contains(got, s.workspace) {
					return fmt.Errorf("the second request was answered: %s", cut(got, 800))
				}
				return nil
			}})
	}
	return append(probes, probe{id: "header-injection", title: "a line break in what answers repeat", gain: "headers of the attacker's in our answers: cookies, leave for other sites",
		run: func(w *world) error {
			for _, path := range []string{"/%0d%0aSet-Cookie:%20x=1", "/api/v1/%0d%0aSet-Cookie:%20x=1", "//evil.example/%2f..", "/login?token=%0d%0aSet-Cookie:%20x=1", "/x/..%0d%0aSet-Cookie:x=1"} {
				a := must1(w.shared()).send(request{method: "GET", path: path})
				if err := staysHere(a); err != nil || a.header.Get("Set-Cookie") != "" {
					return fmt.Errorf("%s: %w: %s", path, err, a)
				}
			}
			return nil
		}}, probe{id: "upgrade-h2c", title: "an upgrade to HTTP/2", gain: "requests within a connection that no check sees",
		run: func(w *world) error {
			a := must1(w.shared()).send(request{method: "GET", path: "/api/v1/health",
				headers: []string{"Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA"}})
			if a.status == http.StatusSwitchingProtocols {
				return fmt.Errorf("it was taken: %s", a)
			}
			return nil
		}})
}

// secondAnswers sends raw with a request for the list inside, and returns all
// that comes until the server closes or has been quiet.
func secondAnswers(s *server, raw string) string {
	inner := request{method: "GET", path: "/api/v1/workspaces", headers: append(s.auth(), "Connection: close")}.wire(s.addr)
	conn := must1(net.DialTimeout("tcp", s.at, patience))
	defer conn.Close()
	_, _ = io.WriteString(conn, strings.NewReplacer("ADDR", s.addr, "INNER", inner, "CHUNK", fmt.Sprintf("%03x\r\n%s\r\n0\r\n\r\n", len(inner), inner)).Replace(raw)) // it may be refused before its end
	var all strings.Builder
	r := bufio.NewReader(conn)
	for range 3 {
		must(conn.SetReadDeadline(time.Now().Add(3 * time.Second)))
		resp, err := http.ReadResponse(r, nil)
		if err != nil {
			break
		}
		body, _ := io.ReadAll(resp.Body) // what came is looked at
		fmt.Fprintf(&all, "%s %s\n", resp.Status, body)
	}
	return all.String()
}
