//go:build unix

package setup

import (
	"os/exec"
	"slices"
	"syscall"
)

// shell returns a command that runs a command line with /bin/sh, started by wrapper.
func shell(wrapper []string, command string) *exec.Cmd {
	argv := append(slices.Clone(wrapper), "/bin/sh", "-c", command)
	return exec.Command(argv[0], argv[1:]...)
}

func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// endGroup asks all processes of the command's group to end.
func endGroup(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) } // ESRCH: none is left

// killGroup kills the processes that are left of the command's group.
func killGroup(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
