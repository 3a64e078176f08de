package plaintext

import (
	"strconv"
	"strings"
)

// Quoted returns s unchanged if a terminal shows it as it is, else quoted as in
// a Go string. No two strings have the same result.
func Quoted(s string) string {
	for _, r := range s {
		if !strconv.IsPrint(r) || r == '\uFFFD' {
			return strconv.Quote(s)
		}
	}
	if strings.HasPrefix(s, `"`) {
		return strconv.Quote(s)
	}
	return s
}
