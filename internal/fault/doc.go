// Package fault makes the places where a process can die, stall, or find its
// disk full ones that a test can name.
//
// In a normal build its functions are empty and cost nothing. Built with
// -tags faults they do what a [Plan] says: the directory that MIDDLEMAN_FAULTS
// names holds one file for each place that acts. A process that starts
// another with an environment of its own passes the variable on with [Env],
// together with what the race detector was told.
// A plan can be changed while the processes run, so that a disk that was full
// has room again.
//
// The name of a place says what has just been done, such as
// "start/lock-taken", or what is tried next where it can fail, such as
// "write/exit.json". It imports nothing of ours.
package fault
