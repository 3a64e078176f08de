//go:build !linux

package git

import (
	"errors"
	"fmt"
)

// box returns argv unchanged: this system has no sandbox.
func box(argv []string, _ string, _, _ []string) []string { return argv }

// Box returns an error that wraps errors.ErrUnsupported: this system has no
// sandbox, so only the settings that a Command pins protect against a
// repository.
func Box() (string, error) {
	return "", fmt.Errorf("confine git: bubblewrap is for Linux: %w", errors.ErrUnsupported)
}
