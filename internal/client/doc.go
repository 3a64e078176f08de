// Package client talks to the server over its Unix socket, and starts one in
// the background where none runs.
//
// It knows the routes and the problems of the API, and nothing of sessions'
// terminals: whoever attaches does so through the session's backend, so that
// a server that ends does not disturb it.
package client
