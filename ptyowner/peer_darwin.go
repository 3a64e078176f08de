package ptyowner

import (
	"net"

	"golang.org/x/sys/unix"
)

// peerUID is who connected, by LOCAL_PEERCRED (unix(4)).
func peerUID(conn *net.UnixConn) (int, error) {
	var cred *unix.Xucred
	var credErr error
	raw, err := conn.SyscallConn()
	if err != nil {
		return -1, err
	}
	if err := raw.Control(func(fd uintptr) {
		cred, credErr = unix.GetsockoptXucred(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
	}); err != nil {
		return -1, err
	}
	if credErr != nil {
		return -1, credErr
	}
	return int(cred.Uid), nil
}
