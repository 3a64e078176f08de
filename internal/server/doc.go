// Package server is middleman's HTTP API over package app: it says who may do
// what, and turns requests into calls of app and its errors into problems. It
// decides nothing about workspaces and sessions.
//
// A request meets, in this order: the response headers (headers.go), the Host
// and origin checks (guard.go), who asks (auth.go), the limits of its body
// and its Idempotency-Key (idempotency.go), what that one may do (routes.go),
// its handler (routes_*.go), and the one place that turns an error into a
// status (problem.go).
package server
