// Package ipc connects processes of one user on one machine: by Unix sockets, on
// Windows by named pipes. Both ends check that the other one is of this user, before
// they send or read. Over a Unix socket file descriptors can be passed.
package ipc
