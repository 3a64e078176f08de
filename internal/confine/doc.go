// Package confine decides what the program of a sandboxed session may touch. From the
// settings, the profile and the workspace it makes the sandbox.Policy of the session,
// the directories and variables that belong to it, and the command line that starts
// a program by it.
//
// What a workspace's sessions keep, caches and copies of agents' directories, is in a
// private directory of that workspace, and what one session keeps in one of that
// session. Nothing here writes to a file of the user's.
package confine
