//go:build !linux

package git

import (
	"errors"
	"fmt"
)

// box is argv: there are no boxes here.
func box(argv []string, _ string, _ []string) []string { return argv }

// Box returns the program that confines a look at content, or why there is
// none: then what a Command pins is all that keeps git from harm.
func Box() (string, error) {
	return "", fmt.Errorf("confine git: bubblewrap is for Linux: %w", errors.ErrUnsupported)
}
