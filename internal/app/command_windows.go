package app

import (
	"os"
	"path/filepath"
)

// userShell returns the path of the command interpreter.
func userShell(environ []string) string {
	if shell := lookup(environ, "ComSpec"); isProgram(shell) {
		return shell
	}
	return filepath.Join(lookup(environ, "SystemRoot"), "System32", "cmd.exe")
}

// isProgram reports whether path is absolute and names a regular file.
func isProgram(path string) bool {
	info, err := os.Stat(path)
	return filepath.IsAbs(path) && err == nil && info.Mode().IsRegular()
}
