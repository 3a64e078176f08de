package private

import "golang.org/x/sys/unix"

// peerOf returns the user id of the peer of a Unix socket (LOCAL_PEERCRED of
// unix(4)), and 0 for its process id, which these credentials do not have.
func peerOf(fd int) (uid, pid int, err error) {
	cred, err := unix.GetsockoptXucred(fd, unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
	if err != nil {
		return -1, 0, err
	}
	return int(cred.Uid), 0, nil
}
