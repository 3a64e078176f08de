// Package state is shared by owners and the processes that start or reach them:
// a session's state directory, with its files and the locks that prove that an
// owner lives ([Dir]), the request that a starter sends to its owner
// ([StartRequest]), and the search for processes that a session without an
// owner has left running.
//
// The layout is permanent: owners of earlier builds keep running, and their
// files are read for as long as the session is kept.
//
// The package starts no goroutine. It removes no state.
package state
