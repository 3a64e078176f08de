// Package journal keeps a session's output on disk, by offset.
//
// A journal is a directory of segments named by the offset of their first
// byte, `<20 digits>.log`. A segment's length is its file's size, so the next
// segment's name says whether anything is missing between the two: bytes that
// could not be written (a full disk) are a gap, and are reported as one.
// One Writer appends; any number of Readers, in this and other processes,
// read the same files without locks, since bytes once written never change
// and old segments are only ever unlinked whole.
//
// A segment has two more files. Its index, `.idx`, records when its bytes were
// written and which sizes the terminal had ([Marks]). Its keyframe, `.key`, draws
// what the terminal showed as of its first byte ([Keyframe]; the bytes are the
// caller's). No output depends on either: without an index times are unknown,
// without a keyframe reading is slower. An index is no larger than its segment
// and some slack.
//
// The package imports nothing of ours.
package journal
