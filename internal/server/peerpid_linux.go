package server

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// peerPID is the process that made a connection over a Unix socket, 0 where
// that is not known.
func peerPID(conn net.Conn) (pid int) {
	plain, ok := conn.(syscall.Conn)
	if !ok {
		return 0
	}
	raw, err := plain.SyscallConn()
	if err != nil {
		return 0
	}
	_ = raw.Control(func(fd uintptr) { // where it fails, the process is not known
		if cred, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); err == nil {
			pid = int(cred.Pid)
		}
	})
	return pid
}
