package admin

// scrub has nothing to do: another process of this user can read the memory of
// a process all the same.
func scrub() error { return nil }
