// Package workspace makes, inspects, deletes and restores the directories that
// sessions run in: git worktrees on branches of their own, empty directories of
// ours, and directories that the user already has.
//
// It promises that no path leaves the base directory, that an inspection runs
// no program of a repository, and that no delete loses work that the caller did
// not agree to lose. It keeps no records: the caller stores each Workspace.
//
// Its sub-packages: look inspects, finish merges and pushes, keep keeps and restores,
// leftover finds what no record owns, basedir opens the directories that hold
// workspaces, model has the types that all of them share. This package gives
// those types names here.
//
// In the base directory, <group>/<name> is a worktree, where the group has the
// name of its repository, and <id> is any other workspace of ours. Beside it,
// .deleting-<id> is one that a delete has moved away and will inspect once more.
// .trash-<id> may be removed. <id>.late-<n> holds what a program wrote during
// that removal. .kept-<id> is a directory that a delete kept, .restoring-<id>
// one that a restore fills. A worker, which a session asks for, is made the same way in
// <scope>/.middleman/work of its parent, or in the base where that is exposed
// (CreateRequest.Exposed). The scope is the directory tree that
// the parent's sessions may work in. In the repository a workspace has a
// branch, <prefix>/<name> or the one that the user asked for, and a worktree
// that is locked with a reason that names it. refs/middleman/trash holds what
// deletes destroyed.
//
// This package runs the git program, 2.36 or newer, without hooks, fsmonitor,
// external diffs and submodule recursion. A checkout runs the smudge filters of
// the user's own configuration, as git does (LFS is one). With consent,
// CreateRequest.Filters, it also runs those of the repository (git-crypt), and
// the programs that the repository names to reach its remotes. A tracked file
// cannot define a filter. An inspection runs only filters of the user's own
// configuration, because it has to compare files as they are stored.
package workspace
