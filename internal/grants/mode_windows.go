package grants

import "io/fs"

// othersRead reports false: on Windows the mode does not tell, and the
// user's own directories are closed to others.
func othersRead(fs.FileMode) bool { return false }
