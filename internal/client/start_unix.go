//go:build unix

package client

import (
	"net"
	"os/exec"
	"syscall"

	"middleman/internal/private"
)

// checkPeer returns an error unless a process of this user listens.
func checkPeer(conn net.Conn) error { return private.CheckPeer(conn) }

// detach makes the process that cmd starts the leader of a session of its
// own, so that no terminal's hang-up or interrupt reaches it.
func detach(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
}
