package private

import "golang.org/x/sys/unix"

// peerUID returns the user id of the peer of a Unix socket (SO_PEERCRED of
// unix(7)).
func peerUID(fd int) (int, error) {
	cred, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return -1, err
	}
	return int(cred.Uid), nil
}
