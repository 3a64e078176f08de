// Package recording shows again what a session showed: the screen as of any
// kept offset, and the whole as an asciicast, from the journal, its index and
// its keyframes alone (see package journal). Neither takes memory in
// proportion to the session, and a screen takes the time of one segment.
//
// It tells what is missing, and never guesses it: output that is no longer kept, a
// gap that a full disk has left, sizes and times that no index has.
//
// The package reads files that another process may be writing, changes
// nothing, and starts no goroutine.
package recording
