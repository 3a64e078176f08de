// Package cgroup looks for the control groups (cgroups(7), version 2) that
// sessions run in: a session's own is that of its systemd scope, see package
// systemd. Where the system has no control groups, or none that is ours, every
// function finds nothing, and every method does nothing.
//
// It makes one cgroup, for the program, below a session's own. It starts no
// goroutine.
package cgroup
