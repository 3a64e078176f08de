// Package await waits for what a session does: for its exit, for a text, for
// quiet. It also follows a session's output. The command line and the server
// both wait by it, so a condition means the same in both.
//
// A text is looked for on the screen when the wait begins, then in all that is
// printed, and on the screen again whenever something was printed, because a
// program may draw a text in pieces. With an offset it is looked for only in
// what is printed from there on; see [Condition].
package await
