// Package git runs the git program safely. git runs no program that a
// repository's configuration names. It works on directories that the caller
// names, and searches for none. Time, memory and output are limited.
//
// A Command is one run of git. Dirs name the repository that it works on:
// Dirs.Look makes a command that only reads, Dirs.Alter one that writes. A View
// is for reading a repository that may be hostile: git gets a temporary git
// directory with links to the repository's objects and refs, and runs in a
// bubblewrap sandbox if that is installed.
//
// Discover finds a Repository. Worktrees lists its checkouts, FindEntry finds
// git's directory for one of them. Ref, MakeBranch and DropBranch work on refs.
// This package knows nothing of workspaces.
package git
