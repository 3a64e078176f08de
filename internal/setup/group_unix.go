//go:build unix

package setup

import (
	"os/exec"
	"syscall"
)

// shell is a command line for the shell that every system has.
func shell(command string) *exec.Cmd { return exec.Command("/bin/sh", "-c", command) }

func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// endGroup asks all of the group to end.
func endGroup(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) } // ESRCH: nobody is left

// killGroup ends what is left of the group.
func killGroup(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
