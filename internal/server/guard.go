package server

import (
	"context"
	"net"
	"net/http"
	"strconv"
	"strings"

	"middleman/internal/api"
	"middleman/internal/listen"
)

// way is how a request came.
type way int

const (
	byTCP way = iota
	// bySocket: over the Unix socket. There the kernel has confirmed that the peer
	// is this user.
	bySocket
	// byOwnSocket: over the socket for sandboxed sessions, or what stands in for it.
	// That the peer is this user would prove nothing: its token alone says what it may do.
	byOwnSocket
)

type wayKey struct{}

func wayOf(ctx context.Context) way {
	by, _ := ctx.Value(wayKey{}).(way)
	return by
}

func viaSocket(r *http.Request) bool { return wayOf(r.Context()) == bySocket }

// withGuard refuses requests that a hostile page could make a browser send: those
// to a foreign name that resolves to the server's address (DNS rebinding), and
// those from a page of another origin.
func (s *Server) withGuard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var p *Problem
		switch wayOf(r.Context()) {
		case byTCP:
			p = s.wrongWay(r)
		case byOwnSocket:
			if !isAPI(r) {
				p = problemf(api.CodeForbidden, notConfined)
			}
		}
		if p != nil {
			s.recordRefusal(r, p)
			refuse(w, p)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// wrongWay returns nil if r may come from a program or from the server's own
// page, else the problem to answer with.
func (s *Server) wrongWay(r *http.Request) *Problem {
	if _, port := splitHost(r.Host); !isPort(port) || !s.knownHost(r.Host) && !s.leadsOn(r) {
		return problemf(api.CodeBadHost, "Host %q is not a name of this server", r.Host)
	}
	if why := s.foreign(r); why != "" {
		return problemf(api.CodeBadOrigin, "the request comes from another site: %s", why)
	}
	return nil
}

// knownHost reports whether a Host header names this server.
func (s *Server) knownHost(hostport string) bool {
	host, _ := splitHost(hostport)
	if listen.IsLoopback(host) || s.options.Port.Name != "" && strings.EqualFold(host, s.options.Port.Name) {
		return true
	}
	for _, known := range s.options.Hosts {
		if strings.EqualFold(host, known) {
			return true
		}
	}
	// Rebinding needs a name. An address is always the one that was dialled.
	return s.options.AllowRemote && net.ParseIP(host) != nil
}

// splitHost splits a Host header. port is "" if there is none.
func splitHost(hostport string) (host, port string) {
	host, port, err := net.SplitHostPort(hostport)
	if err != nil {
		host, port = hostport, ""
	}
	return strings.Trim(strings.TrimSuffix(host, "."), "[]"), port
}

// isPort reports whether port is a valid port of a Host header; "" means none.
func isPort(port string) bool {
	n, err := strconv.ParseUint(port, 10, 16)
	return port == "" || err == nil && n > 0 && strconv.FormatUint(n, 10) == port
}

// foreign returns why r cannot come from the server's own pages or from a
// program, or "". Browsers send Origin with each request that may change state
// and each WebSocket, and Sec-Fetch-Site with every request. A page on another
// port of this machine is "same-site", and as foreign as any. If a header occurs
// twice, all its values are checked.
func (s *Server) foreign(r *http.Request) string {
	if !changes(r) && !isAPI(r) {
		return ""
	}
	for _, origin := range r.Header.Values("Origin") {
		if origin != "" && origin != s.scheme()+"://"+r.Host {
			return "Origin is " + origin
		}
	}
	for _, site := range r.Header.Values("Sec-Fetch-Site") {
		if site != "" && site != "same-origin" && site != "none" {
			return "Sec-Fetch-Site is " + site
		}
	}
	return ""
}

// scheme returns the URL scheme by which browsers reach the server.
func (s *Server) scheme() string {
	if s.options.TLS != nil {
		return "https"
	}
	return "http"
}

// changes reports whether r may change something, or takes over its connection.
func changes(r *http.Request) bool {
	switch r.Method {
	case http.MethodGet, http.MethodHead:
		return r.Header.Get("Upgrade") != ""
	}
	return true
}

func isAPI(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, apiPrefix+"/") }
