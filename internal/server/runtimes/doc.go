// Package runtimes has the routes on remote runtimes: those that list, add, remove
// and check them, and those under /runtimes/{runtime} that pass a request on.
//
// Only the operations of a list are passed on. A body and an answer that are JSON
// are decoded and encoded again; other answers are bounded streams of bytes. An
// error of a runtime becomes a status, a code and a sentence of ours.
package runtimes
