// Package ptyowner starts sessions and finds them again. A session is one
// program on one terminal, in a process that outlives every viewer and the
// server.
//
// [Backend] starts owners; its sessions talk to them over a socket. Package
// ptyowner/owner is the owner process: a program that starts sessions must run
// owner.Main when it is started with the argument "pty-owner". Both sides share
// ptyowner/state, the state directory, and ptyowner/wire, the frames.
//
// The state directory is readable without an owner: output, last screen and
// exit outlive the process. The only proof that an owner lives is the flock on
// owner.lock. State is cleaned only when that lock is free.
//
// An owner outlives upgrades: every build can talk to owners of earlier builds.
// [Backend.Upgrade] replaces the executable of a running owner in place.
//
// client.go is this side of the hot path: it sends and receives for a viewer.
// The rest is backend.go, start_unix.go (how an owner is started), session.go
// (uses the owner while it lives, then the state directory) and ended.go.
package ptyowner
