// Package workspace makes, inspects, deletes and restores the directories that sessions
// run in: git worktrees on branches of their own, empty directories of ours,
// and directories that the user already has.
//
// It promises that no path leaves the base directory, that nothing of a
// repository runs while it looks, and that no delete loses work that the
// caller did not name. It keeps no records: the caller stores Workspace.
//
// The packages below it are its rooms: look finds out, keep keeps and restores,
// leftover finds what nobody owns, basedir opens the directories that hold
// workspaces, model is what all of them share. Their types have names here.
//
// In the base directory, <id> is a workspace; .deleting-<id> is one that a
// delete has taken out of reach and is to look at once more; .trash-<id> is
// free to be removed; <id>.late-<n> is what a program made in it at that
// moment; .kept-<id> and .restoring-<id> are what a restore begins
// and works with. A worker, which a session asks for, is made the same way in
// <scope>/.middleman/work of its parent, the directory tree that the parent's
// sessions may work in. In the repository a workspace is a branch, <prefix>/<name>
// or what the user asked for, and a worktree that is locked with a reason that
// names it. What a delete destroyed is kept below refs/middleman/trash.
//
// Git is the git program, 2.36 or newer, without hooks, fsmonitor, external
// diffs and submodule recursion. A checkout runs the smudge filters that the
// user's own configuration defines, as git does (LFS is such); with consent,
// CreateRequest.Filters, those of the repository's too (git-crypt), and the
// programs by which that reaches its remotes. A tracked file cannot define one.
// A look runs only filters of the user's own configuration, as it must compare
// files as they are stored.
package workspace
