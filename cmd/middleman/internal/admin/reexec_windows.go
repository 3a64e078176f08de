package admin

// scrub does nothing: on Windows another process of this user can read the
// memory of this one anyway.
func scrub() error { return nil }
