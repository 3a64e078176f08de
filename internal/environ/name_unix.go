//go:build unix

package environ

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
