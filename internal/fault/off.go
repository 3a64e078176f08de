//go:build !faults

package fault

// Here is a place where a test may end this process, or hold it.
func Here(string) {}

// Error is a place where a test may let what comes next fail.
func Error(string) error { return nil }

// Env is what a process that acts on a plan is started with.
func Env() []string { return nil }
