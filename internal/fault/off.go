//go:build !faults

package fault

// Here marks a place where a test may end this process or make it wait.
func Here(string) {}

// Error marks a place where a test may make the next operation fail.
func Error(string) error { return nil }

// Env returns the variables to add when a process is started with an explicit
// environment: GORACE in a race build, else none.
func Env() []string { return raceEnv() }
