package plaintext

import (
	"strconv"
	"strings"
)

// Quoted returns s unchanged if a terminal shows it as it is, else quoted as in
// a Go string. No two strings have the same result.
func Quoted(s string) string {
	odd := func(r rune) bool { return !strconv.IsPrint(r) || r == '\uFFFD' }
	if strings.HasPrefix(s, `"`) || strings.ContainsFunc(s, odd) || Text(s) != s {
		return Text(strconv.Quote(s))
	}
	return s
}
