// Package tmux hosts sessions on a private tmux server: it gives their owners
// panes as terminals, for people who use tmux. It implements [host.Host] and
// [host.Provider].
//
// It owns the tmux server behind one socket in the runtime directory, with a
// configuration that it generates. It never touches the user's own tmux server,
// configuration and $TMUX. It names each target of a command exactly, and ends
// only panes that carry its mark. It never puts a session's environment or
// input into an argument vector or into tmux's environment.
//
// # Life of a session
//
//  1. [Host.Start], in the owner, makes a tmux session whose pane runs the
//     launcher, "middleman tmux-pane DIR SOCKET". It marks the pane, reads the
//     marks back, and pipes the pane to "middleman tmux-pipe SOCKET".
//  2. Both helpers connect to the owner at the socket. The launcher passes the
//     pane's terminal to the owner, and the other helper the pipe, so that the
//     owner has these descriptors itself. The launcher takes host.lock and
//     starts the program on the terminal, on Linux as the leader of a session
//     of its own.
//  3. The owner reads the pipe. It writes input and resizes to a FIFO that one
//     control client for the whole server reads.
//  4. The launcher is the subreaper of the program's processes. It waits for all
//     of them and reports each end to the owner. When the program has ended, it
//     prints a random mark after the last byte of output. When the exit is on
//     disk and no child is left, it ends, and the pane with it.
//  5. If the owner is killed, the launcher starts another with the descriptors
//     that it kept ([Host.Adopt]).
package tmux
