// Package cgroup finds the control groups (cgroups(7), version 2) that sessions
// run in. A session's cgroup is that of its systemd scope; see package systemd.
// If the system has no control groups, or none that is ours, every function
// finds nothing and every method does nothing.
//
// The package creates one cgroup per session, for the program, below the
// session's own. It starts no goroutine.
package cgroup
