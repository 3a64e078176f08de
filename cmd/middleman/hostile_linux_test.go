package main

import (
	"context"
	"path/filepath"

	"github.com/rogpeppe/go-internal/testscript"

	"middleman/internal/store"
)

// cmdRestoring gives every deleted workspace the row that a server leaves which
// ends while it restores it:
//
//	restoring
func cmdRestoring(ts *testscript.TestScript, _ bool, _ []string) {
	s, err := store.Open(context.Background(), filepath.Join(ts.Getenv("MIDDLEMAN_HOME"), "data", "middleman.db"))
	ts.Check(err)
	defer s.Close()
	list, _, err := s.DeletedWorkspaces(context.Background(), store.Page{Limit: -1})
	ts.Check(err)
	for _, d := range list {
		ts.Check(s.ReviveDeleted(context.Background(), d.ID, d.Name))
	}
}
