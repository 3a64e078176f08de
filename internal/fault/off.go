//go:build !faults

package fault

// Here is a place where a test may end this process, or hold it.
func Here(string) {}

// Error is a place where a test may let what comes next fail.
func Error(string) error { return nil }

// Env is what a process is started with beside an environment of its own:
// nothing, but what the race detector was told.
func Env() []string { return raceEnv() }
