//go:build !linux

package egress

import (
	"errors"
	"fmt"
	"os"
)

// Main is the proxy process on Linux. Elsewhere there is none.
func Main([]string) int {
	fmt.Fprintln(os.Stderr, "middleman: a network list needs Linux")
	return 2
}

// Start fails.
func (Proxy) Start([]string, string, string) (args []string, socket int, inherit func() error, err error) {
	return nil, 0, nil, fmt.Errorf("network list: %w", errors.ErrUnsupported)
}

// Join fails.
func (Proxy) Join(int) error { return fmt.Errorf("network list: %w", errors.ErrUnsupported) }
