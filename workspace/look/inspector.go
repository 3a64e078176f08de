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

// New returns an inspector of the workspaces in base. Where git runs in a sandbox it
// cannot reach the directories in hidden. New touches nothing.
func New(base string, hidden []string) *Inspector {
	return &Inspector{base: base, views: git.Views{Hidden: hidden}}
}
