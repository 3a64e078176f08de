//go:build unix

package admin

import "io/fs"

// closedPipe reports whether others cannot open the pipe by a name. A pipe without
// a name has the group's permissions on some systems.
func closedPipe(info fs.FileInfo) bool { return info.Mode().Perm()&0o007 == 0 }

// closedFile reports whether others can neither read nor write the file.
func closedFile(info fs.FileInfo) bool { return info.Mode().Perm()&0o077 == 0 }
