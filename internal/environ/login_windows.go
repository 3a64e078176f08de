package environ

import (
	"context"
	"os"
	"path/filepath"
)

const defaultPath = ""

// findUser returns the user as environ describes it. The shell is the command
// interpreter.
func findUser(environ []string) user {
	u := user{environ: environ, Home: Lookup(environ, "USERPROFILE"), Name: Lookup(environ, "USERNAME"), Shell: Lookup(environ, "ComSpec")}
	if !IsProgram(u.Shell) {
		u.Shell = filepath.Join(Lookup(environ, "SystemRoot"), "System32", "cmd.exe")
	}
	return u.completed()
}

// IsProgram reports whether path is absolute and names a regular file.
func IsProgram(path string) bool {
	info, err := os.Stat(path)
	return filepath.IsAbs(path) && err == nil && info.Mode().IsRegular()
}

func startupFiles(user) string { return "" }

// readLogin returns what is on the allow-list: Windows has no login shells.
func readLogin(_ context.Context, u user) ([]string, error) { return Allowed(u.environ), nil }
