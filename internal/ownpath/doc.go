// Package ownpath keeps the PATH of this process free of directories that sandboxed
// programs can write to. What a process finds in PATH it runs with all rights of its
// user, and so does the git that it starts: a program in a sandbox that puts a git into a
// directory of that PATH would be out.
//
// The PATH of sessions is not this one. It is their caller's, or that of a login.
package ownpath
