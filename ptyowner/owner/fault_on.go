//go:build faults

package owner

import (
	"middleman/internal/fault"
	"middleman/terminal/journal"
)

// Package journal imports no package of ours, so its fault hook is set here.
func init() {
	journal.Fault = func(op string) error { return fault.Error("journal/" + op) }
}
