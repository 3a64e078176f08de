// Package wire defines the protocol on an owner's socket: the frames and the
// payloads of control frames.
//
// A frame is a big-endian uint32 length, one byte type, and the payload; the
// length counts the payload alone. Control payloads are JSON objects. Input,
// Output and Snapshot payloads are raw bytes. A type number is permanent: it
// may be retired but is never reused, because owners outlive upgrades. A
// receiver skips frames of unknown types and ignores unknown JSON fields.
//
// A connection runs in this order. The client sends Hello. The owner answers
// with Welcome, or with Error and closes. Then, in modes attach and watch, the
// owner sends Snapshot, Output and Event frames, and one last frame: Exit,
// Detached or Error. In mode control there are only Request and Reply, and Ack,
// which tells the owner that the client knows of the exit.
//
// The package imports nothing of ours.
package wire
