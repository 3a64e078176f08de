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

// IsProgram reports whether path is absolute and names a regular file, not a device such
// as con.exe.
func IsProgram(path string) bool {
	info, err := os.Stat(path)
	return filepath.IsAbs(path) && err == nil && info.Mode().IsRegular()
}

// Program returns the program that path names, with an ending of PATHEXT, a list, if path
// has none: as cmd.exe and CreateProcess do, it finds tool.cmd beside a script tool.
func Program(path, endings string) (program string, ok bool) {
	if filepath.Ext(path) != "" && IsProgram(path) {
		return path, true
	}
	if endings == "" {
		endings = ".COM;.EXE;.BAT;.CMD"
	}
	for _, ending := range filepath.SplitList(endings) {
		if program := path + ending; ending != "" && IsProgram(program) {
			return program, true
		}
	}
	return "", false
}

func startupFiles(user) string { return "" }

// readLogin returns what is on the allow-list: Windows has no login shells.
func readLogin(_ context.Context, u user) ([]string, error) { return Allowed(u.environ), nil }
