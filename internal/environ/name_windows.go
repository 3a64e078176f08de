package environ

import "strings"

// foldsNames says whether names that differ in case are one.
const foldsNames = true

// fold returns the form of name that all its spellings have: Windows has Path, and
// programs ask for PATH.
func fold(name string) string { return strings.ToUpper(name) }

// IsName reports whether a variable can be set by that name: ProgramFiles(x86) is one.
func IsName(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == '=' || r == '\x7f' })
}

// utf8Locale returns "": programs of Windows ask the console for its characters.
func utf8Locale() string { return "" }
