package vt

import (
	"strings"
	"testing"
)

// fed returns a Terminal that was fed in.
func fed(cols, rows int, in string) *Terminal {
	t := New(Options{Cols: cols, Rows: rows})
	t.Write([]byte(in))
	return t
}

// shown is the screen as text, without blank lines at the end.
func shown(t *Terminal) string {
	return strings.TrimSuffix(t.Text(TextOptions{}), "\n")
}

// screenCase is an input and what the screen then shows.
type screenCase struct {
	name, in, want string
}

func runScreenCases(t *testing.T, cols, rows int, cases []screenCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := shown(fed(cols, rows, c.in)); got != c.want {
				t.Errorf("%q shows %q, want %q", c.in, got, c.want)
			}
		})
	}
}
