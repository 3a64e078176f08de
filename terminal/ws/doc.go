// Package ws joins a browser's WebSocket to an attachment of a session.
//
// Binary messages are terminal bytes, opaque and contiguous in both
// directions; text messages are JSON (message.go). A viewer that is slow, or
// does not say what it has drawn, makes this package stop taking from the
// attachment; the session's journal is the queue, so the program never
// notices. What is typed is queued up to 1 MiB and then left in the
// connection, so that a paste of any size arrives whole and in order.
//
// The way of a keystroke and of what it prints, one function a hop:
//
//  1. upLoop: WebSocket -> inbox
//  2. inputLoop: inbox -> attachment
//  3. downLoop: attachment -> outbox
//  4. sendLoop: outbox -> WebSocket
//
// Nothing waits for a timer on that way. Small outputs join in the outbox
// only while an earlier message is being written.
package ws
