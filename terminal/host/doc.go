// Package host says what gives an owner its program's terminal: a PTY that the
// owner opened itself, or a pane of a tmux server. The owner is the same
// whatever its host.
//
// A [Host] starts the program; the [Terminal] is what the owner reads, types at
// and sizes from then on, and what tells it of the program's end. Neither knows
// of journals, screens and viewers.
package host
