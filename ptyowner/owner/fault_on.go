//go:build faults

package owner

import (
	"middleman/internal/fault"
	"middleman/terminal/journal"
)

// The journal, which imports nothing of ours, is told of the plan from here.
func init() {
	journal.Fault = func(op string) error { return fault.Error("journal/" + op) }
}
