//go:build !linux

package workspace

import (
	"errors"
	"os"
)

// cloneFile is for Linux only: other systems cannot clone into an open file.
func cloneFile(*os.File, *os.File) error { return errors.ErrUnsupported }

// nextData returns all from offset on: holes are not looked for.
func nextData(_ *os.File, offset, size int64) (start, end int64) { return offset, size }

// allocated returns size.
func allocated(_ *os.File, size int64) int64 { return size }
