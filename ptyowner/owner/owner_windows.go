package owner

import (
	"errors"
	"fmt"
	"os"

	"middleman/terminal/host"
)

// Main prints that Windows has no owners yet, and returns 1.
func Main([]string, string, ...host.Host) int {
	fmt.Fprintln(os.Stderr, fmt.Errorf("host terminals by pty-owner on Windows: %w", errors.ErrUnsupported))
	return 1
}
