// Package listen opens what the server is reached by: it takes the lock on the
// data directory, so that only one server uses it, and opens the Unix socket,
// whose peers must be the same user, and the TCP port, which stays ours while
// browsers have a login for it.
package listen
