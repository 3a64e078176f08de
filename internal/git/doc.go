// Package git runs the git program safely: with nothing of a repository's
// configuration that could run something, on directories that are named and
// never searched for, within bounds of time, memory and output.
//
// A Command is one run. Dirs say what it is aimed at; Dirs.Look makes one that
// only reads, Dirs.Alter one that writes. A View is for looking at a repository
// that may be hostile: git sees a directory of ours that leads to its objects
// and refs, and is confined by bubblewrap where that is installed.
//
// A Repository is found by Discover; Worktrees lists its checkouts, FindEntry
// finds what it says of one, Ref, MakeBranch and DropBranch are about its refs.
// Nothing here knows what a workspace is.
package git
