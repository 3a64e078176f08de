// Package terminal says what a session is: one program on one terminal that
// outlives every viewer and the server.
//
// It owns the words and the contracts, and no mechanism: [Backend] starts and
// finds sessions, [Session] acts on one, [Attachment] is one viewer's
// connection to one. Package ptyowner implements them, on any host (package
// terminal/host). This package imports nothing else of this module.
//
// Three facts are never confused here. An exit is a fact with a record on
// disk ([Exit]). A session that is proved dead without such a record is lost
// ([StateLost], [ErrGone]). A session that does not answer is unreachable
// ([ErrUnreachable]): that proves nothing, and nothing of it may be cleaned.
package terminal
