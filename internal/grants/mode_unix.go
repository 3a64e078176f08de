//go:build unix

package grants

import "io/fs"

// othersRead reports whether a file's mode lets other users read it.
func othersRead(mode fs.FileMode) bool { return mode.Perm()&0o077 != 0 }
