//go:build !linux && !darwin

package listen

import (
	"errors"
	"fmt"
	"net"
)

// checkPeers returns an error: this system cannot tell which user connects.
func checkPeers(*net.UnixListener) (net.Listener, error) {
	return nil, fmt.Errorf("check the peers of a Unix socket: %w", errors.ErrUnsupported)
}
