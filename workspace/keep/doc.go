// Package keep keeps what a delete destroys, and brings it back.
//
// If a delete would destroy data that exists nowhere else, Delete.Keep makes a
// snapshot first: a commit at Ref. Its manifest lists every file of the
// directory and of git's own directory for the worktree. Its tree and parents
// hold their content, so that git's garbage collection keeps it. If no
// repository can hold the data, the directory itself stays under another name.
// Restore brings back everything or nothing. If it is killed, the next Restore
// continues.
//
// Any program that can write to the repository may have written a manifest. So
// Restore checks it against what a delete writes before it uses any of it.
package keep
