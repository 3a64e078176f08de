//go:build faults

package journal

// Fault may let what a Writer does next fail: append, roll, fill, sync or
// index. It is set once, before there is a Writer.
var Fault = func(op string) error { return nil }

// fault is where a test may let what comes next fail.
func fault(op string) error { return Fault(op) }
