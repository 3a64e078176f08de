package leftover

import (
	"context"

	"middleman/workspace/model"
)

// Finder searches one base directory, and the repositories that the records and
// that directory lead to. Safe for concurrent use.
type Finder struct {
	Base   string   // the manager's base directory
	Given  []string // base directories that the user named, besides those of records
	Prefix string   // what precedes the slash in names of our branches
	// Inspect returns what a delete of a workspace would destroy.
	Inspect func(context.Context, model.Workspace) (model.Loss, error)
	// Delete deletes a workspace that holds no work. Vanish does the same for a
	// workspace that was never completed: a missing directory does not stop it.
	Delete, Vanish func(context.Context, model.Workspace) (model.Loss, error)
}

// bases returns all base directories, the manager's own first.
func (f Finder) bases() []string { return append([]string{f.Base}, f.Given...) }
