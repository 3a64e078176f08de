//go:build !linux && !darwin

package sandbox

import (
	"errors"
	"fmt"
)

// start refuses: this system has no sandbox.
func start(p Policy, _ Proxy, _ []string) error {
	return fmt.Errorf("sandbox %s: %w on this system", p.Level, errors.ErrUnsupported)
}

// runInner is for Linux alone.
func runInner([]string, Proxy) error {
	return fmt.Errorf("%s: %w", innerCommand, errors.ErrUnsupported)
}
