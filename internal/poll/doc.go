// Package poll waits for descriptors with poll(2), in the thread that uses
// them, and writes to a connection without waiting. This gives the least delay
// between a key and its echo. For everything else use the runtime's poller,
// through package net and *os.File.
//
// [File] exists only on Linux. The package starts no goroutine.
package poll

// PromptBytes is the most bytes that count as keys or their echo. The goroutine
// that has read so few writes them itself, with [WriteNow]. More bytes are a
// stream, which is faster with several goroutines.
const PromptBytes = 4 << 10
