//go:build !linux

package workspace

import (
	"errors"
	"os"
)

// cloneFile is for Linux only: other systems cannot clone into an open file.
func cloneFile(*os.File, *os.File) error { return errors.ErrUnsupported }
