package look

import (
	"middleman/internal/git"
	"middleman/internal/memo"
)

// Inspector looks at workspaces: status, comparison, commits, forecast. It
// remembers what never changes; any number of goroutines may use it.
type Inspector struct {
	base string
	// views remembers configurations by their content, distances are of histories
	// by their ends.
	views     git.Views
	distances memo.Map[string, [2]int]
}

// New returns an inspector of the workspaces in base; it touches nothing.
func New(base string) *Inspector { return &Inspector{base: base} }
