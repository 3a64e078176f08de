// Package workspace makes, inspects and deletes the directories that sessions
// run in: git worktrees on branches of their own, empty directories of ours,
// and directories that the user already has.
//
// It promises that no path leaves the base directory, that nothing of a
// repository runs while it looks, and that no delete loses work that the
// caller did not name. It keeps no records: the caller stores Workspace.
package workspace
