// Package finish brings the commits of a workspace to where they are wanted:
// Merge to a branch of the repository, Push to a remote.
//
// It promises that a refused, failed or killed merge leaves branch, files and
// workspace as they were. A merge is made apart from every checkout, as objects
// alone. Then one command of git moves the branch, and only from the commit that
// was merged with. Of two merges into one branch both land, or one is refused.
//
// It never changes the workspace, never rewrites a branch, and runs no hook and
// no merge driver of the repository.
package finish
