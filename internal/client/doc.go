// Package client calls the server over its Unix socket, and starts one in the
// background if none runs.
//
// It knows the routes and the problems of the API, and nothing of sessions'
// terminals: the command line attaches through the session's backend, so that the
// end of the server does not disturb it.
package client
