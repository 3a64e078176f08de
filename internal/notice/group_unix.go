//go:build unix

package notice

import (
	"os/exec"
	"syscall"
)

// inGroup gives a command a session and process group of its own, which is killed
// as a whole.
func inGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}

// killGroup kills what a command has left of its group.
func killGroup(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) } // ESRCH: nothing is left
