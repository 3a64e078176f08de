// Package poll waits for descriptors with poll(2), in the thread that uses them,
// and writes to a connection without waiting: that is what a key and its echo
// take the least time by. Everybody else is better served by the runtime's own
// poller, by the package net and *os.File.
//
// [File] is on Linux alone. The package starts no goroutine.
package poll

// PromptBytes is how many bytes at once may be keys, or their echo: so much is
// written with [WriteNow] by who has read it. More is a stream, where several at
// work are faster.
const PromptBytes = 4 << 10
