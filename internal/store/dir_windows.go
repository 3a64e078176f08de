package store

// checkDir has nothing to look at: a directory of the user's profile inherits
// the profile's access list, and mode bits do not exist.
func checkDir(string) error { return nil }

// syncDir has nothing to do: a directory cannot be synced, and a rename is
// logged by the file system.
func syncDir(string) error { return nil }
