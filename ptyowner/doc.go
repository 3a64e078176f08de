// Package ptyowner runs one program on one PTY, in a process that outlives
// every viewer and the server.
//
// It has two sides. In the server and the command line, [Backend] starts
// owners and finds them, and its sessions speak to them over a socket. In the
// owner process, [Main] owns the PTY, the program, and the session's state
// directory, and never ends before its program has.
//
// The state directory is readable without an owner: output, last screen and
// exit outlive the process. The only proof of life is the flock on owner.lock:
// state is cleaned when that lock is free, and on no other ground.
//
// An owner outlives upgrades: every build speaks to owners of earlier ones, and
// [Backend.Upgrade] lets a running one go on as another build, in place.
//
// The hot path, in the order in which a byte meets it: output.go (PTY to
// journal to viewers), viewer.go (one viewer's connection), client.go (the
// other end of it). The rest of an owner's life, in its order: owner.go,
// lifecycle.go, join.go, control.go, stop.go, exit.go; handover.go where another
// image takes over.
package ptyowner
