package dashboard

import (
	"strconv"
	"strings"
)

// uncoloured removes the colours from text with SGR sequences, and leaves what else
// they style, such as the mark of the selected row.
func uncoloured(text string) string {
	var b strings.Builder
	for {
		before, rest, ok := strings.Cut(text, "\x1b[")
		b.WriteString(before)
		if !ok {
			return b.String()
		}
		params, after, _ := strings.Cut(rest, "m")
		if kept := withoutColours(strings.Split(params, ";")); len(kept) > 0 {
			b.WriteString("\x1b[" + strings.Join(kept, ";") + "m")
		}
		text = after
	}
}

// withoutColours returns the parameters of an SGR sequence that set no colour.
func withoutColours(params []string) (kept []string) {
	for i := 0; i < len(params); i++ {
		base, _, whole := strings.Cut(params[i], ":")
		n, _ := strconv.Atoi(base)
		switch {
		case n == 38 || n == 48 || n == 58:
			switch {
			case whole || i+1 >= len(params):
			case params[i+1] == "5":
				i += 2
			case params[i+1] == "2":
				i += 4
			}
		case n >= 30 && n <= 49, n == 59, n >= 90 && n <= 107:
		default:
			kept = append(kept, params[i])
		}
	}
	return kept
}
