//go:build !linux

package workspace

import (
	"errors"
	"os"
)

// cloneFile is for Linux alone: elsewhere a clone cannot be made of a file
// that exists.
func cloneFile(*os.File, *os.File) error { return errors.ErrUnsupported }
