package server

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// peerUID is who made the connection, by LOCAL_PEERCRED of unix(4).
func peerUID(fd int) (int, error) {
	cred, err := unix.GetsockoptXucred(fd, unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
	if err != nil {
		return 0, fmt.Errorf("peer of socket: LOCAL_PEERCRED: %w", err)
	}
	return int(cred.Uid), nil
}
