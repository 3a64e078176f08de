package ptyowner

import (
	"net"

	"golang.org/x/sys/unix"
)

// peerUID is who connected, by SO_PEERCRED (unix(7)).
func peerUID(conn *net.UnixConn) (int, error) {
	var cred *unix.Ucred
	var credErr error
	raw, err := conn.SyscallConn()
	if err != nil {
		return -1, err
	}
	if err := raw.Control(func(fd uintptr) {
		cred, credErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	}); err != nil {
		return -1, err
	}
	if credErr != nil {
		return -1, credErr
	}
	return int(cred.Uid), nil
}
