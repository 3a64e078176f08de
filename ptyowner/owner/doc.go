// Package owner is the process that owns a session: it has the session's terminal
// from a host, starts the program on it, keeps output, screen and viewers, records
// the exit, and never ends before its program has. [Main] is all of it; package
// ptyowner starts and reaches owners, and knows of them what packages wire and
// state say.
//
// No viewer slows the program down, and no exit is told before it is on disk. An
// owner reaches neither the network nor a database, and is stopped by nobody's
// context.
//
// The hot path, in the order in which a byte meets it: output.go (PTY to journal
// to viewers), viewer.go (one viewer's connection). The rest of an owner's life,
// in its order: owner.go, lifecycle.go, join.go, control.go, stop.go, exit.go;
// handover.go where another image takes over, and hosts_unix.go where an owner was
// killed and its host goes on.
package owner
