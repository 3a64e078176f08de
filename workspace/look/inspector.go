package look

import (
	"middleman/internal/git"
	"middleman/internal/memo"
)

// Inspector inspects workspaces: status, comparison, commits, forecast. It
// caches results that never change. Safe for concurrent use.
type Inspector struct {
	base string
	// views caches configurations by their content, distances the counts
	// between two commits.
	views     git.Views
	distances memo.Map[string, [2]int]
}

// New returns an inspector of the workspaces in base. It touches nothing.
func New(base string) *Inspector { return &Inspector{base: base} }
