package server

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"middleman/internal/heldport"
	"middleman/internal/listen"
)

// beginPort ends all logins if another program may have had the port since the
// last server. Otherwise it keeps the port held for the logins that are left.
func (s *Server) beginPort(ctx context.Context) error {
	s.options.Port.OnEnd(func() { s.holdPort(ctx) })
	if !s.options.Port.Fresh {
		s.holdPort(ctx)
		return nil
	}
	ended, err := s.Store.DeleteLogins(ctx)
	if err != nil {
		return fmt.Errorf("end the logins of the previous server: %w", err)
	}
	if len(ended) > 0 {
		s.Log.Warn("all logins were ended, because another program may have used this server's port meanwhile, as after a restart of the machine; "+
			"`middleman open` logs in again", "logins", len(ended))
	}
	return nil
}

// holdPort has the port held until the last login ends. If that fails, the
// logins end with this server, because the next finds no holder. It ignores the
// cancellation of ctx, because a logout ends its own request.
func (s *Server) holdPort(ctx context.Context) {
	ctx = context.WithoutCancel(ctx)
	until, err := s.lastLogin(ctx)
	if err == nil {
		err = s.options.Port.Hold(ctx, until)
	}
	if err != nil {
		s.Log.Error("nothing holds the port while no server runs, so all logins end when this server ends", "error", err)
	}
}

// lastLogin returns when the last login ends, or zero if there is none.
func (s *Server) lastLogin(ctx context.Context) (until time.Time, err error) {
	list, err := s.Store.Logins(ctx, time.Now())
	for _, l := range list {
		if ends := l.Ends(); ends.After(until) {
			until = ends
		}
	}
	return until, err
}

// withName redirects browsers from the server's addresses, and from the names of
// earlier servers, to the name that this server alone has. Programs with tokens
// may use the addresses.
func (s *Server) withName(pages http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if viaSocket(r) || !s.leadsOn(r) {
			pages.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Cache-Control", "no-store")
		http.Redirect(w, r, "http://"+s.named(r.Host)+r.URL.RequestURI(), http.StatusTemporaryRedirect)
	})
}

// leadsOn reports whether r asks for a page at another host than the server's
// name, so that withName redirects it.
func (s *Server) leadsOn(r *http.Request) bool {
	host, _ := splitHost(r.Host)
	return s.options.Port.Name != "" && !strings.EqualFold(host, s.options.Port.Name) && (listen.IsLoopback(host) || heldport.IsName(host)) &&
		!changes(r) && !isAPI(r)
}

// named returns host with the server's name in place of its own. It keeps the
// port, because a forwarded port differs from the server's.
func (s *Server) named(host string) string {
	if _, port, err := net.SplitHostPort(host); err == nil {
		return net.JoinHostPort(s.options.Port.Name, port)
	}
	return s.options.Port.Name
}
