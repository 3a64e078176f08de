// Package state is what owners and those who start and reach them agree upon: a
// session's state directory, with the files in it and the locks that prove that
// somebody lives ([Dir]), what a starter hands to its owner ([StartRequest]), and
// which processes a session without an owner has left running.
//
// The layout is permanent: owners of earlier builds keep on running, and what they
// have written is read for as long as the session is kept.
//
// The package starts no goroutine, and removes nothing.
package state
