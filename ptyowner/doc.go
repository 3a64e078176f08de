// Package ptyowner starts sessions and finds them again: one program on one
// terminal each, in a process that outlives every viewer and the server.
//
// [Backend] starts owners, and its sessions speak to them over a socket. The owner
// process itself is package ptyowner/owner: a program that starts sessions runs its
// Main where it is started with the argument "pty-owner". What the two agree upon
// is in ptyowner/state, the state directory, and ptyowner/wire, the frames.
//
// The state directory is readable without an owner: output, last screen and
// exit outlive the process. The only proof of life is the flock on owner.lock:
// state is cleaned when that lock is free, and on no other ground.
//
// An owner outlives upgrades: every build speaks to owners of earlier ones, and
// [Backend.Upgrade] lets a running one go on as another build, in place.
//
// client.go is the end of the hot path: what a viewer sends and receives. The rest:
// backend.go, start_unix.go (how an owner is started), session.go (through the
// owner while there is one, from the state directory after), ended.go.
package ptyowner
