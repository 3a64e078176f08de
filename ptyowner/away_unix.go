//go:build unix

package ptyowner

import (
	"errors"
	"io"
	"io/fs"
	"syscall"
)

// wentAway reports whether err is what one sees of an owner that has not
// begun to listen, or has just ended: there is no socket, nobody listens on
// it, or the connection was closed. It proves nothing; it is worth a second
// look.
func wentAway(err error) bool {
	for _, gone := range []error{
		fs.ErrNotExist, io.EOF, io.ErrUnexpectedEOF,
		syscall.ECONNREFUSED, syscall.ECONNRESET, syscall.EPIPE,
	} {
		if errors.Is(err, gone) {
			return true
		}
	}
	return false
}
