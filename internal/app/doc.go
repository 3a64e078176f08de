// Package app is what the product does, without HTTP: it makes workspaces and
// deletes them, starts sessions and watches them, spawns workers, finds all of it
// again after a restart.
//
// An App is all of it. operations.go has what changes something, queries.go what
// only looks; the files behind them have a topic each. Sessions live in their
// backends and go on when the server ends, however it ends. What a session is
// doing is always asked of its backend; the store is only what is shown when
// nobody answers. Errors that a person is to be told are Refusals with a stable
// code.
package app
