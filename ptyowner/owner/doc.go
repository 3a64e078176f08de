// Package owner is the process that owns a session: it gets the session's
// terminal from a host, starts the program on it, keeps output, screen and
// viewers, and records the exit. It never ends before its program has. [Main]
// is all of its API. Package ptyowner starts and reaches owners through
// packages wire and state only.
//
// No viewer slows the program down, and no client is told of an exit before
// that is on disk. An owner uses neither the network nor a database, and no
// context ends it.
//
// The hot path, in the order in which a byte takes it: inlet_linux.go (a key to
// the PTY), output.go (PTY to journal to viewers), viewer.go (one viewer's
// connection). The rest, in the order of an owner's life: owner.go,
// program_unix.go, lifecycle.go, join.go, control.go, stop.go, exit.go.
// handover.go is for another image that takes over, and hosts_unix.go for a
// host that goes on after its owner was killed.
package owner
