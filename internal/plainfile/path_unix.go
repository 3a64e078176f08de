//go:build unix

package plainfile

// CheckPath returns nil: on Unix a path means what it says.
func CheckPath(string) error { return nil }

// CheckName returns nil, for the same reason.
func CheckName(string) error { return nil }

// Exact returns path.
func Exact(path string) string { return path }

// Full returns path: no name has a second form on Unix.
func Full(path string) string { return path }
