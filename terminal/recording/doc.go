// Package recording shows again what a session showed: the screen as of any
// kept offset, and the whole as an asciicast, from the journal, its index and
// its keyframes alone (see package journal). Neither takes memory in
// proportion to the session, and a screen takes the time of one segment.
//
// What is missing is said and never guessed: output that is no longer kept, a
// gap of a full disk, sizes or times that no index tells.
//
// The package reads files that another process may be writing, changes
// nothing, and starts no goroutine.
package recording
