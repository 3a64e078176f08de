// Package private makes and checks directories, files and locks that no other user may
// touch. It has one strict check each for directories and for files. All code that
// reads or writes state uses these; for sockets see package ipc. It also hardens the
// process, so that others cannot read its memory.
//
// A path passes a check only if no other user than this one and root could have
// put the file there, or could replace it. For that, every component of the path
// is checked, from the root down, as OpenSSH does. The checks change nothing;
// MakeDir and Tighten do, and say so.
package private
