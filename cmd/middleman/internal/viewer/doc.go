// Package viewer connects the user's own terminal to a session: keys go to the
// session, its output goes to the terminal, and at the end the terminal is
// restored.
//
// Output: receive gets it, draw removes queries while it is a replay, write
// draws it. Keys: the keyboard loop looks for our own keys and queues the rest,
// the typing loop passes it to the attachment. A watcher in a terminal of another
// size sees a window of the session's screen instead of its bytes. The switch key
// leaves the session for a list of the others (see Switch).
package viewer
