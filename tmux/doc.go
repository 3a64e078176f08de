// Package tmux hosts sessions on a private tmux server: the same
// [terminal.Backend] as the pty-owner, for people who have tmux.
//
// It owns the tmux server behind one socket in the runtime directory, with a
// configuration that it generates, and one state directory for each session
// beside those of the pty-owner. It promises that the user's own tmux server,
// configuration and $TMUX are never touched, that every target is exact, and
// that it ends only sessions that carry its mark. It never puts a session's
// environment or input into an argument vector or into tmux's environment.
//
// # What happens in detail
//
//  1. [Backend.Start] makes the state directory and writes the specification
//     (0600) into it, then makes a tmux session whose pane runs the launcher,
//     "middleman tmux-run DIR", sets and reads back the owner mark, and pipes
//     the pane to "middleman tmux-journal DIR": all in one tmux command
//     sequence.
//  2. The launcher takes session.lock, the proof of life, reads and deletes
//     the specification, and waits until the journal helper is in place, so
//     that the journal has the very first byte.
//  3. It starts the program on the pane's terminal, as the leader of a session
//     of its own, and reports its process id, or the step that failed.
//  4. When the program has ended, the launcher writes an end marker with a
//     random nonce and the exit to the terminal. The journal helper meets it
//     after the last byte of output, syncs the journal, has the last screen
//     drawn by tmux, writes exit.json, tells the launcher and whoever follows,
//     and ends the tmux session. A helper that dies before that is replaced
//     by the launcher: what was printed meanwhile is a gap in the journal.
//  5. The launcher stays as long as processes are left that the program
//     started: it is their subreaper, so that a stop finds them all.
//
// A session whose lock is free and that has no exit.json is lost: tmux or the
// launcher was killed. Its journal stays.
package tmux
