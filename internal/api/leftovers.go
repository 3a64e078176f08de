package api

import "middleman/workspace"

// Leftovers is the answer to a prune, and what prune --json prints.
type Leftovers struct {
	DryRun    bool                 `json:"dry_run"`
	Leftovers []workspace.Leftover `json:"leftovers"`
}
