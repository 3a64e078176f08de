// Package wire is what crosses an owner's socket: frames, and the payloads of
// control frames.
//
// A frame is a big-endian uint32 length, one byte type, and the payload; the
// length counts the payload alone. Control payloads are JSON objects, Input,
// Output and Snapshot are raw. A type number is permanent: retired, never
// reused, because owners outlive upgrades. Who receives an unknown type skips
// it; unknown JSON fields are ignored.
//
// A connection, in order: the client sends Hello; the owner answers Welcome,
// or Error and closes. Then, for mode attach and watch, Snapshot, Output and
// Event frames follow until one last frame: Exit, Detached or Error. Mode
// control carries only Request and Reply.
//
// The package imports nothing of ours.
package wire
