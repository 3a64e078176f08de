// Package private keeps what middleman keeps of a user to that user: one
// strict check each for directories, files and the other end of a socket, used
// by everybody who reads or writes state, and what a process does so that
// others cannot look into it.
//
// It promises that nothing is read, run, written or sent where somebody else
// than this user and root could have put it, or could replace it: every
// component of a path is looked at from the root down, as OpenSSH does. It
// never changes what it checks; MakeDir and Tighten alone do, and say so.
package private
