package keep

import "strings"

// changesName reports whether the system would change this name when it makes a
// file. Windows drops dots and spaces at the end, and takes what follows a
// colon for a stream. A short name (git~1) can stand for another file.
func changesName(name string) bool {
	return strings.HasSuffix(name, ".") || strings.HasSuffix(name, " ") || strings.ContainsAny(name, ":~")
}
