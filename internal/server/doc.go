// Package server is middleman's HTTP API: it joins workspaces to sessions,
// says who may do what, and tells everybody what happens.
//
// It owns the life of workspaces (creation in stages, refusals, deletion) and
// keeps one watcher on each live session, so that an exit is recorded whoever
// looks. It holds no terminal: sessions live in their backends and go on when
// the server ends, however it ends. What a session is doing is always asked
// of its backend; the store is only what is shown when nobody answers.
//
// A request meets, in this order: the response headers (headers.go), the Host
// and origin checks (guard.go), who asks (auth.go), the limits of its body
// and its Idempotency-Key (idempotency.go), what that one may do (routes.go),
// its handler (routes_*.go), and the one place that turns an error into a
// status and a code (problem.go).
package server
