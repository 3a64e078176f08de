//go:build unix

package environ

import "runtime"

// foldsNames says whether names that differ in case are one.
const foldsNames = false

// fold returns name.
func fold(name string) string { return name }

// IsName reports whether name is one that shells can set.
func IsName(name string) bool {
	for i, r := range name {
		if r != '_' && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return name != ""
}

// utf8Locale returns the locale that is of characters alone. Versions of macOS lack
// C.UTF-8; there it is what Terminal.app sets.
func utf8Locale() string {
	if runtime.GOOS == "darwin" {
		return "UTF-8"
	}
	return "C.UTF-8"
}
