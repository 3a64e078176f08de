package config

import "os"

// shortBase returns the directory that holds the directories for sockets which
// are too long elsewhere. It is the user's own.
func shortBase() string { return os.TempDir() }

// taken returns false: the short place is this user's own.
func taken(string) bool { return false }
