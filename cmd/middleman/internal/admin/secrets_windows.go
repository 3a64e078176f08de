package admin

import "io/fs"

// closedTerminal returns true: a console is that of its user.
func closedTerminal(fs.FileInfo) bool { return true }

// closedFile returns false: a file's mode does not tell who may read it.
func closedFile(fs.FileInfo) bool { return false }
