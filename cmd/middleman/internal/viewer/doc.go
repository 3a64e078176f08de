// Package viewer puts the user's own terminal on a session: keys go in, bytes
// come out, and at the end the terminal is as it was.
//
// A byte takes this way: Run receives it, draw takes queries out of it while
// it is a replay, and writes it to the terminal. A key takes this way: the
// keyboard loop looks for the detach key and queues the rest, the typing loop
// hands it to the attachment. A watcher in a terminal of another size sees a
// window of the session's screen instead of its bytes. The package also removes control sequences for
// those who want text alone (see PlainText and Lines).
package viewer
