// Package runtime reaches the servers of other machines. Such a server, with its
// workspaces and sessions, is a remote runtime; the server that uses this package
// is its hub.
//
// A Dialer makes connections to a remote: by ssh, where `middleman connect` at the
// other end joins them to the server's Unix socket, or by https. Above the dialer
// everything is the API that the remote has. A Remote calls it within bounds of
// time and memory, and a Set has the remotes by name.
//
// A remote is not trusted. Its answers are decoded into our types and encoded
// again, its error texts are replaced by ours, and nothing of a failed connection
// (an endpoint, a path, a message of ssh) is part of an error's text. The package
// keeps no copy of what a remote has, except the time and the outcome of the last
// call. A remote that does not answer says nothing about its sessions.
package runtime
