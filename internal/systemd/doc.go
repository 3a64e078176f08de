// Package systemd talks to systemd if it runs. It finds the unit of a process,
// starts commands in transient scopes of their own, and tells systemd when a
// server is ready.
//
// When systemd ends a unit it ends the processes in the unit's cgroup,
// whichever their parents are. So the cgroup decides here which unit a process
// runs in. INVOCATION_ID and similar variables do not tell: a child inherits
// them even if it is moved to another cgroup.
package systemd
