//go:build !linux && !darwin

package listen

import (
	"errors"
	"fmt"
	"net"
)

// checkPeers cannot tell who is at the other end here.
func checkPeers(*net.UnixListener) (net.Listener, error) {
	return nil, fmt.Errorf("check the peers of a Unix socket: %w", errors.ErrUnsupported)
}
