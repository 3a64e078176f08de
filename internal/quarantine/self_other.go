//go:build !linux

package quarantine

import "os"

// executable returns the path of this executable.
func executable() (string, error) { return os.Executable() }
