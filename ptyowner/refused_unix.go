//go:build unix

package ptyowner

import (
	"errors"
	"syscall"
)

// isRefused reports whether nobody listens on a socket that is there.
func isRefused(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }
