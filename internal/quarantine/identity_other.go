//go:build !linux

package quarantine

import "io/fs"

// identity is empty: size and time have to do.
func identity(fs.FileInfo) string { return "" }
