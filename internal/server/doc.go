// Package server is middleman's HTTP API over package app. It authenticates and
// authorizes callers, turns requests into calls of app, and turns errors into
// problems (RFC 9457). It decides nothing about workspaces and sessions.
//
// A request passes, in this order: the response headers (headers.go), the
// recovery of panics (problem.go), the Host and origin checks (guard.go),
// authentication (auth.go), the limits of its body (body.go) and its
// Idempotency-Key (idempotency.go), authorization (routes.go), the audit log
// (audited.go), and its handler (routes_*.go). problem.go alone turns errors
// into statuses.
package server
