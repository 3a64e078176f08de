//go:build unix

package setup

import (
	"os/exec"
	"syscall"
)

// shell returns a command that runs a command line with /bin/sh.
func shell(command string) *exec.Cmd { return exec.Command("/bin/sh", "-c", command) }

func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// endGroup asks all processes of the command's group to end.
func endGroup(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) } // ESRCH: none is left

// killGroup kills the processes that are left of the command's group.
func killGroup(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
