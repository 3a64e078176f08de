//go:build unix

package runtime

import "io/fs"

// openToOthers reports whether others can read a file.
func openToOthers(info fs.FileInfo) bool { return info.Mode().Perm()&0o077 != 0 }
