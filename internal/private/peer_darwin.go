package private

import "golang.org/x/sys/unix"

// peerUID returns the user id of the peer of a Unix socket (LOCAL_PEERCRED of
// unix(4)).
func peerUID(fd int) (int, error) {
	cred, err := unix.GetsockoptXucred(fd, unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
	if err != nil {
		return -1, err
	}
	return int(cred.Uid), nil
}
