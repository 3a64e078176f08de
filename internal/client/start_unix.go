//go:build unix

package client

import (
	"os/exec"
	"syscall"
)

// detach makes the process that cmd starts the leader of a session of its
// own, so that no terminal's hang-up or interrupt reaches it.
func detach(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
}
