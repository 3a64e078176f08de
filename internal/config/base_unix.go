//go:build unix

package config

// shortBase returns the directory that holds the directories for sockets which
// are too long elsewhere. It is not $TMPDIR: processes that have different ones
// must find each other.
func shortBase() string { return "/tmp" }
