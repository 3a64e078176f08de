package ipc

import "golang.org/x/sys/unix"

// peerOf returns the user and process ids of the peer of a Unix socket
// (LOCAL_PEERCRED of unix(4), and LOCAL_PEERPID). The process id is 0 if the system
// does not tell it.
func peerOf(fd int) (uid, pid int, err error) {
	cred, err := unix.GetsockoptXucred(fd, unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
	if err != nil {
		return -1, 0, err
	}
	if pid, err = unix.GetsockoptInt(fd, unix.SOL_LOCAL, unix.LOCAL_PEERPID); err != nil {
		pid = 0
	}
	return int(cred.Uid), pid, nil
}
