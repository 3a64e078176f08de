package setup

import (
	"os/exec"
	"syscall"
)

// shell returns a command that runs a command line with cmd.exe.
func shell(_ []string, command string) *exec.Cmd { // there is no sandbox
	return exec.Command("cmd.exe", "/d", "/c", command)
}

func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

// endGroup kills the shell: it could not be asked to end, because a console
// process takes no signal.
func endGroup(cmd *exec.Cmd) { killGroup(cmd) }

// killGroup kills the shell, but not the processes that it started.
func killGroup(cmd *exec.Cmd) { _ = cmd.Process.Kill() } // it may have ended
