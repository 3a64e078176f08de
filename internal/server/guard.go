package server

import (
	"net"
	"net/http"
	"strconv"
	"strings"

	"middleman/internal/api"
	"middleman/internal/listen"
)

// socketKey marks requests that came over the Unix socket, where the kernel
// has said that the other end is this user.
type socketKey struct{}

func viaSocket(r *http.Request) bool {
	yes, _ := r.Context().Value(socketKey{}).(bool)
	return yes
}

// withGuard refuses what a hostile page could make a browser send: a request
// to a name that was rebound to our address, and one that begins elsewhere.
func (s *Server) withGuard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !viaSocket(r) {
			if p := s.wrongWay(r); p != nil {
				s.recordRefusal(r, p)
				refuse(w, p)
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

// wrongWay says why r did not come from a program or our own page, or nil.
func (s *Server) wrongWay(r *http.Request) *Problem {
	if _, port := splitHost(r.Host); !isPort(port) || !s.knownHost(r.Host) && !s.leadsOn(r) {
		return problemf(api.CodeBadHost, "Host %q is not a name of this server", r.Host)
	}
	if why := s.foreign(r); why != "" {
		return problemf(api.CodeBadOrigin, "the request comes from another site: %s", why)
	}
	return nil
}

// knownHost says whether a Host header may name us.
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
	// Rebinding needs a name; an address always is the one that was dialled.
	return s.options.AllowRemote && net.ParseIP(host) != nil
}

// splitHost takes a Host header apart; without a port that is "".
func splitHost(hostport string) (host, port string) {
	host, port, err := net.SplitHostPort(hostport)
	if err != nil {
		host, port = hostport, ""
	}
	return strings.Trim(strings.TrimSuffix(host, "."), "[]"), port
}

// isPort says whether a Host header may have this port, "" for none.
func isPort(port string) bool {
	n, err := strconv.ParseUint(port, 10, 16)
	return port == "" || err == nil && n > 0 && strconv.FormatUint(n, 10) == port
}

// foreign says why r cannot have been made by our own pages or by a program,
// or "". Browsers send Origin with whatever changes state and with each
// WebSocket, and Sec-Fetch-Site with everything; a page on another port of
// this machine is "same-site" and as foreign as any. Each value counts of a
// header that is there twice.
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

// scheme is what browsers reach the server by.
func (s *Server) scheme() string {
	if s.options.TLS != nil {
		return "https"
	}
	return "http"
}

// changes says whether r may change something, or takes over a connection.
func changes(r *http.Request) bool {
	switch r.Method {
	case http.MethodGet, http.MethodHead:
		return r.Header.Get("Upgrade") != ""
	}
	return true
}

func isAPI(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, apiPrefix+"/") }
