//go:build unix

package journal

import "os"

// openRead opens a file that the writer may delete meanwhile.
func openRead(path string) (*os.File, error) { return os.Open(path) }
