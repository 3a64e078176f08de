package keep

import "strings"

// changesName reports whether the system would make a file of another name: it
// drops dots and spaces at the end, and takes what follows a colon for a
// stream. A short name (git~1) can be another file's.
func changesName(name string) bool {
	return strings.HasSuffix(name, ".") || strings.HasSuffix(name, " ") || strings.ContainsAny(name, ":~")
}
