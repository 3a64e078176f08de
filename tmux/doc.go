// Package tmux hosts sessions on a private tmux server: it gives their owners
// panes, as [host.Host] says, for people who have tmux.
//
// It owns the tmux server behind one socket in the runtime directory, with a
// configuration that it generates. It promises that the user's own tmux server,
// configuration and $TMUX are never touched, that every target is exact, and
// that it ends only panes that carry its mark. It never puts a session's
// environment or input into an argument vector or into tmux's environment.
//
// # What happens in detail
//
//  1. [Host.Start], in the owner, makes a tmux session whose pane runs the
//     launcher, "middleman tmux-pane DIR SOCKET", marks the pane, reads the
//     marks back, and pipes it to "middleman tmux-pipe SOCKET".
//  2. Both meet the owner at the socket. The launcher passes the pane's terminal
//     and the helper the pipe, of which the owner has the descriptors then. The
//     launcher takes host.lock and starts the program on the terminal, as the
//     leader of a session of its own.
//  3. The owner reads the pipe. What is typed, and resizes, go to a FIFO that one
//     control client of the whole server reads.
//  4. The launcher waits for all that the program starts, as a subreaper, and
//     tells the owner of each end. When the program has ended it prints a random
//     mark behind the last byte of output. When the exit is on disk, and no child
//     is left, it ends, and the pane with it.
//  5. When the owner is killed the launcher starts another, with the descriptors
//     that it kept ([Host.Adopt]).
package tmux
