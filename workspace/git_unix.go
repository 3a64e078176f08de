//go:build unix

package workspace

import (
	"os/exec"
	"syscall"
)

// ownGroup starts cmd in a session and so in a process group of its own and
// has a cancelled context stop all of it. Without a terminal nothing that it
// starts, such as ssh, can ask there and wait.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
}

// killGroup ends what SIGTERM left of cmd's group.
func killGroup(cmd *exec.Cmd) {
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // ESRCH: nothing is left
	}
}
