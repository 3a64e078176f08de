//go:build !linux

package workspace

import (
	"errors"
	"fmt"
)

// box is argv: there are no boxes here.
func box(argv []string, _ string, _ []string) []string { return argv }

// Box is the program that a look which reads content is confined with, or why
// it is not: then only what package workspace pins keeps it from harm.
func Box() (string, error) {
	return "", fmt.Errorf("confine git: bubblewrap is for Linux: %w", errors.ErrUnsupported)
}
