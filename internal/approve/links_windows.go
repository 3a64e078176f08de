package approve

import "io/fs"

// links returns how many names a file has. Windows does not tell without an open
// file, so it is not known.
func links(fs.FileInfo) uint64 { return 0 }
