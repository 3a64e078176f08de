// Package fault gives names to places in the code. At such a place a test can
// make a process die, stall, or get an error such as a full disk.
//
// In a normal build its functions are empty and cost nothing. Built with -tags
// faults they do what a [Plan] says: the directory in MIDDLEMAN_FAULTS holds
// one file for each place that acts. A process that starts another with an
// explicit environment adds [Env] to it, which passes on MIDDLEMAN_FAULTS and
// GORACE. A test can change a plan while processes run, for example to free a
// full disk again.
//
// The name of a place says what has just been done, such as "start/lock-taken",
// or what is tried next and can fail, such as "write/exit.json". This package
// imports nothing of ours.
package fault
