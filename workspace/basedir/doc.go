// Package basedir opens the directories that hold workspaces, and names what is
// in them. Such a directory is the manager's own base, or .middleman/work of a
// scope, the directory tree that a session may work in.
//
// It is checked before it is opened: canonical, ours alone to write, behind no
// link, in nothing that anybody could replace. What opens one returns a handle,
// which the caller closes; all that is made, renamed or removed goes through it,
// so that a directory that is swapped after the check changes nothing elsewhere.
package basedir
