package admin

import "io/fs"

// closedPipe reports whether others cannot open the pipe. That of a shell or a
// parent has a descriptor of theirs.
func closedPipe(fs.FileInfo) bool { return true }

// closedFile returns false: a file's mode does not tell who may read it.
func closedFile(fs.FileInfo) bool { return false }
