// Package systemd speaks to systemd where there is one: it tells in which unit
// a process runs, starts commands in transient scopes of their own, and says
// when a server is ready.
//
// What systemd ends with a unit is what is in the unit's cgroup, whoever its
// parent is. So the cgroup decides here what counts as running in a unit;
// INVOCATION_ID and its like are inherited by whatever a unit starts, also
// after that has been moved elsewhere.
package systemd
