//go:build unix

package agent

// hooksRun says that hooks are passed to programs. Their command is a line for a
// POSIX shell.
const hooksRun = true
