package admin

import (
	"context"
	"fmt"
	"path/filepath"

	"middleman/internal/ownpath"
	"middleman/internal/plaintext"
	"middleman/internal/store"
)

// cleanPath takes out of the PATH of this process what sandboxed programs can write to, as
// the server does with its own, and reports that. Without it doctor would run what one of
// them has put there. Call it before anything that starts a program.
func (c commands) cleanPath(ctx context.Context) (found []finding) {
	problem := func(err error) []finding { return append(found, finding{"PATH", "problem", err.Error()}) }
	db, err := store.OpenReadOnly(ctx, c.Dirs.Database())
	if err != nil {
		return nil // there are no records, or they say why
	}
	defer db.Close()
	list, err := db.Exposed(ctx)
	if err != nil {
		return problem(err)
	}
	var open []ownpath.Open
	for _, dir := range []string{c.Dirs.Sandbox(""), c.Dirs.Private(""), c.Dirs.Quarantine("")} {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			open = append(open, ownpath.Open{Dir: real, Who: "a session"})
		}
	}
	for _, e := range list {
		open = append(open, ownpath.Open{Dir: e.Path, Which: e.Which, Who: "session " + e.Session})
	}
	left, err := ownpath.Clean(open)
	if err != nil {
		return problem(err)
	}
	for _, l := range left {
		text := fmt.Sprintf("%s is left out here, as the server leaves it out of its own: %s", plaintext.Quoted(l.Dir), plaintext.Line(l.Why))
		found = append(found, finding{"PATH", "note", text})
	}
	return found
}
