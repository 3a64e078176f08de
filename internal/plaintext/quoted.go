package plaintext

import (
	"strconv"
	"strings"
)

// Quoted is s itself where a terminal shows it as it is, else s quoted as in a
// Go string: nothing else is shown alike.
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
