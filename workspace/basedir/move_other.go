//go:build !linux

package basedir

import (
	"errors"
	"os"
)

// moveFree returns an errors.ErrUnsupported: the caller looks before it renames.
func moveFree(*os.File, string, string) error { return errors.ErrUnsupported }
