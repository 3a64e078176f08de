// Package testenv gives tests what they need of the real world: throw-away
// repositories and directories, tools, a private tmux socket, a browser's login, waiting with a
// deadline, and a check that no process is left. It is for tests only.
package testenv
