package workspaces

import (
	"cmp"
	"fmt"
	"strings"

	"middleman/cmd/middleman/internal/catalog"
	"middleman/internal/api"
	"middleman/internal/plaintext"
	"middleman/internal/sandbox"
)

// tellSandbox prints what a session may touch.
func (c commands) tellSandbox(s api.Session) {
	b := s.Sandbox
	if b == nil {
		fmt.Fprintf(c.Out, "sandbox of %s: %s\n", plaintext.Line(catalog.Label(s)), sandbox.None)
		return
	}
	fmt.Fprintf(c.Out, "sandbox of %s: %s, by %s, policy %s\n", plaintext.Line(catalog.Label(s)), b.Level, b.Method, plaintext.Line(b.Digest))
	for _, line := range [][2]string{
		{"writable", strings.Join(b.Writable, ", ")}, {"a copy of its own", strings.Join(b.Private, ", ")}, {"temporary files", b.Temp},
		{"network", b.Network}, {"limits", b.Limits}, {"not covered", b.NotCovered},
	} {
		fmt.Fprintf(c.Out, "    %-18s %s\n", line[0], plaintext.Line(cmp.Or(line[1], "-")))
	}
}
