// Package basedir opens the directories that hold workspaces, and names what is
// in them. Such a directory is the manager's own base, a group in it, which has the
// worktrees of one repository, or .middleman/work of a scope. A scope is the directory tree that a session may work in.
//
// A directory is checked before it is opened: its path is canonical, only this
// user can write to it, and no other user can replace it or a directory above
// it. The functions that open one return a handle, which the caller closes.
// Everything is made, renamed and removed through that handle, so that
// replacing the directory after the check changes nothing elsewhere.
package basedir
