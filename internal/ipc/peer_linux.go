package ipc

import "golang.org/x/sys/unix"

// peerOf returns the user and process ids of the peer of a Unix socket
// (SO_PEERCRED of unix(7)).
func peerOf(fd int) (uid, pid int, err error) {
	cred, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return -1, 0, err
	}
	return int(cred.Uid), int(cred.Pid), nil
}
