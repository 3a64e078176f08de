//go:build !linux

package escapes

import (
	"context"
	"errors"
	"fmt"

	"middleman/internal/sandbox"
)

// Command is the helper command that makes the attempts.
const Command = "sandbox-try"

// Main is for Linux alone.
func Main([]string) int { return 1 }

// Try is for Linux alone.
func Try(context.Context, string, sandbox.Level, sandbox.Method, ...string) ([]Result, error) {
	return nil, fmt.Errorf("try to break the sandbox: %w on this system", errors.ErrUnsupported)
}
