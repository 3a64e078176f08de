package server

import (
	"context"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"middleman/internal/api"
	"middleman/internal/audit"
	"middleman/internal/ipc"
	"middleman/internal/private"
)

// audited maps the operations whose calls are recorded to their audit events. A
// request that is refused before its operation is recorded where it is refused.
var audited = map[string]string{
	"create-login-link":      audit.LoginLink,
	"login":                  audit.Login,
	"logout":                 audit.Logout,
	"delete-login":           audit.Logout,
	"delete-logins":          audit.Logout,
	"create-token":           audit.TokenCreate,
	"revoke-token":           audit.TokenRevoke,
	"rotate-token":           audit.TokenRotate,
	"end-session":            audit.SessionStop,
	"delete-workspace":       audit.Delete,
	"prune":                  audit.Prune,
	"forget-transcripts":     audit.Prune,
	"trust-workspace-config": audit.TrustGrant,
	"trust-config":           audit.TrustGrant,
	"revoke-trust":           audit.TrustRevoke,
	"answer-approval":        audit.Approval,
	"push-bundle":            audit.BundlePush,
	"remove-bundle":          audit.BundleRemove,
	"add-runtime":            audit.RuntimeAdd,
	"remove-runtime":         audit.RuntimeRemove,
}

// consents are the parameters that a record contains: what a call may destroy,
// and where.
var consents = []string{"discard_work", "stop_sessions", "skip_teardown", "workers", "forget_transcripts", "workspace", "directory", "grace", "digest"}

// withAudit records the calls of audited operations, except dry runs.
func (s *Server) withAudit(ctx huma.Context, next func(huma.Context)) {
	event := audited[strings.TrimPrefix(ctx.Operation().OperationID, "runtime-")] // on a runtime it is the same
	if event == "" || s.options.Audit == nil {
		next(ctx)
		return
	}
	r, w := humago.Unwrap(ctx)
	rec := &audit.Record{Event: event, What: target(ctx, r)}
	next(huma.WithContext(ctx, audit.With(ctx.Context(), rec)))
	if r.URL.Query().Has("dry_run") {
		return
	}
	status := statusOf(w)
	switch {
	case status < 400:
		rec.Outcome = audit.OK
	case status < 500:
		rec.Outcome = audit.Refused
	default:
		rec.Outcome = audit.Failed
	}
	if status >= 400 {
		rec.Detail = http.StatusText(status)
	}
	if rec.Outcome != audit.OK && !viaSocket(r) {
		rec.By, rec.From = actor(ctx.Context()), remoteAddress(ctx.Context())
		s.options.Audit.Refuse(*rec) // goes to the log of refusals, so it cannot push out what happened
		return
	}
	s.record(ctx.Context(), *rec)
}

// target returns the objects and the consents in a call's path and query.
func target(ctx huma.Context, r *http.Request) string {
	var parts []string
	for _, name := range []string{"workspace", "session", "login", "token", "approval", "bundle", "runtime"} {
		if id := ctx.Param(name); id != "" {
			parts = append(parts, name+" "+id)
		}
	}
	for _, name := range consents {
		for _, value := range r.URL.Query()[name] {
			if value != "" {
				parts = append(parts, name+"="+value)
			}
		}
	}
	return strings.Join(parts, " ")
}

// record writes rec, with the caller and its address.
func (s *Server) record(ctx context.Context, rec audit.Record) {
	rec.By, rec.From = actor(ctx), remoteAddress(ctx)
	s.options.Audit.Write(rec)
}

// recordRefusal records the refusal of r, if it is one for the audit log.
func (s *Server) recordRefusal(r *http.Request, p *Problem) {
	events := map[string]string{
		api.CodeBadHost: audit.RefusedHost, api.CodeBadOrigin: audit.RefusedOrigin,
		api.CodeUnauthorized: audit.Unauthorized, api.CodeForbidden: audit.Forbidden,
	}
	if event := events[p.Code]; event != "" {
		s.options.Audit.Refuse(audit.Record{Event: event, By: actor(r.Context()), From: remoteAddress(r.Context()), What: r.Method + " " + r.URL.Path, Detail: p.Detail})
	}
}

// actor returns the authenticated caller for a record, else the zero By.
func actor(ctx context.Context) audit.By {
	id, ok := caller(ctx)
	if !ok {
		return audit.By{}
	}
	kind, rest, _ := strings.Cut(id.subject, ":")
	by := audit.By{Kind: kind, ID: rest, Name: id.name}
	if kind == "socket" { // the peer is a process of the server's user
		by.UID, by.SID = private.OwnUser()
		if conn, ok := ctx.Value(connKey{}).(net.Conn); ok {
			by.PID = ipc.PeerPID(conn)
		}
	}
	return by
}

// remoteAddress returns the client's IP address, or "" for the Unix socket.
func remoteAddress(ctx context.Context) string {
	conn, ok := ctx.Value(connKey{}).(net.Conn)
	if !ok || conn.RemoteAddr().Network() != "tcp" { // the path of a pipe has a colon too
		return ""
	}
	host, _, err := net.SplitHostPort(conn.RemoteAddr().String())
	if err != nil {
		return ""
	}
	return host
}

// statusOf returns the status that was sent on w, or 200 if none was.
func statusOf(w http.ResponseWriter) int {
	for {
		if p, ok := w.(*patientWriter); ok {
			return max(p.status, http.StatusOK)
		}
		inner, ok := w.(interface{ Unwrap() http.ResponseWriter })
		if !ok {
			return http.StatusOK
		}
		w = inner.Unwrap()
	}
}

// recordStart records the start of the server. The function that it returns
// records the end and closes the log.
func (s *Server) recordStart() (stop func()) {
	by := audit.By{Kind: "server", PID: os.Getpid()}
	address, _ := s.tcpAddress()
	s.options.Audit.Write(audit.Record{Event: audit.ServerStart, By: by, What: address, Outcome: audit.OK, Detail: "version " + s.options.Version})
	return func() {
		s.options.Audit.Write(audit.Record{Event: audit.ServerStop, By: by, What: address, Outcome: audit.OK})
		s.options.Audit.Close()
	}
}

// maxTokenAddresses bounds the addresses per token whose first use is recorded,
// because its holder may have any number of them.
const maxTokenAddresses = 16

// noteTokenUse records the first use of a token from an address since the
// server was started.
func (s *Server) noteTokenUse(ctx context.Context, id identity) {
	if !strings.HasPrefix(id.subject, "token:") {
		return
	}
	from := remoteAddress(ctx)
	s.mu.Lock()
	used := s.tokenUse[id.subject]
	seen := slices.Contains(used, from) || len(used) >= maxTokenAddresses
	if !seen {
		s.tokenUse[id.subject] = append(used, from)
	}
	s.mu.Unlock()
	if !seen {
		s.record(ctx, audit.Record{Event: audit.TokenUse, What: "scope " + strconv.Quote(string(id.scope)), Outcome: audit.OK})
	}
}
