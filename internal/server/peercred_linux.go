package server

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// peerUID is who made the connection, by SO_PEERCRED of unix(7).
func peerUID(fd int) (int, error) {
	cred, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return 0, fmt.Errorf("peer of socket: SO_PEERCRED: %w", err)
	}
	return int(cred.Uid), nil
}
