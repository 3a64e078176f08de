package leftover

import (
	"context"

	"middleman/workspace/model"
)

// Finder finds what is left over in one base directory, and in the repositories
// that records and that directory lead to. Several goroutines may use one.
type Finder struct {
	Base   string // the manager's base directory
	Prefix string // what comes before the slash in branches of ours
	// Inspect says what a delete of a workspace would destroy.
	Inspect func(context.Context, model.Workspace) (model.Loss, error)
	// Delete deletes a workspace that holds no work. Vanish is Delete for one
	// that was never made whole: that its directory is gone keeps nothing.
	Delete, Vanish func(context.Context, model.Workspace) (model.Loss, error)
}
