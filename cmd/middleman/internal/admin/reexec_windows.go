package admin

import (
	"errors"
	"fmt"

	"middleman/internal/plaintext"
)

// scrub does nothing: on Windows another process of this user can read the
// memory of this one anyway.
func scrub([]string) error { return nil }

// restartable returns an error that wraps errors.ErrUnsupported: Windows cannot
// replace the program of a process.
func restartable() error {
	return fmt.Errorf("the server cannot restart itself on Windows: stop it, and start it again: %w", errors.ErrUnsupported)
}

func (e *restartError) run(*plaintext.Writer) error { return restartable() }

// killCommand is the command that ends a process.
func killCommand(pid int) string { return fmt.Sprintf("taskkill /f /pid %d", pid) }

// adopt does nothing: no server on Windows was another before.
func adopt() {}
