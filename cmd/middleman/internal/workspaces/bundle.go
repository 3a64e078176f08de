package workspaces

import (
	"cmp"
	"fmt"

	"middleman/cmd/middleman/internal/catalog"
	"middleman/internal/api"
	"middleman/internal/plaintext"
)

// tellBundle prints the bundle of a session, what this host gave of what that asks, and
// how it has moved since.
func (c commands) tellBundle(s api.Session) {
	b := s.Bundle
	if b == nil {
		return
	}
	fmt.Fprintf(c.Out, "bundle of %s: profile %s of %s, revision %d, digest %s\n", plaintext.Line(catalog.Label(s)),
		plaintext.Line(b.Profile), plaintext.Line(b.ID), b.Revision, plaintext.Line(b.Digest))
	for _, g := range b.Grants {
		what := g.Asked
		if g.Write {
			what += ", writable"
		}
		if given := cmp.Or(g.Given, g.Reason); given != "" {
			what += ": " + given
		}
		fmt.Fprintf(c.Out, "    %-18s %s (%s)\n", plaintext.Line(g.Result), plaintext.Line(what), plaintext.Line(g.Rule))
	}
	switch m := b.Moved; {
	case m == nil:
	case m.Digest == "":
		fmt.Fprintf(c.Out, "    %-18s it is not stored here any more\n", "moved")
	default:
		fmt.Fprintf(c.Out, "    %-18s the newest revision is %d, digest %s\n", "moved", m.Revision, plaintext.Line(m.Digest))
		for _, change := range m.Changes {
			fmt.Fprintf(c.Out, "    %-18s %s: %s -> %s\n", "", plaintext.Line(change.Field), plaintext.Line(cmp.Or(change.Old, "-")), plaintext.Line(cmp.Or(change.New, "-")))
		}
	}
}
