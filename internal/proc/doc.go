// Package proc identifies processes by pid and start. On Unix it also lists the
// processes of the machine, and ends sets of processes so that none is left: it
// freezes them before it kills them, and signals no process by its pid alone.
package proc
