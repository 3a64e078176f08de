//go:build unix

package client

import (
	"errors"
	"net"
	"os/exec"
	"syscall"

	"middleman/internal/private"
)

// checkPeer returns an error unless a process of this user listens at the other
// end.
func checkPeer(conn net.Conn) error { return private.CheckPeer(conn) }

// detach makes cmd's process the leader of a new session (setsid(2)), so that no
// hang-up or interrupt of a terminal reaches it.
func detach(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
}

// ended reports whether there is no process with that id.
func ended(pid int) bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }
