package setup

import (
	"os/exec"
	"syscall"
)

// shell is a command line for the system's interpreter.
func shell(command string) *exec.Cmd { return exec.Command("cmd.exe", "/d", "/c", command) }

func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

// endGroup has nobody to ask: a console process takes no signal.
func endGroup(cmd *exec.Cmd) { killGroup(cmd) }

// killGroup ends the shell.
func killGroup(cmd *exec.Cmd) { _ = cmd.Process.Kill() } // it may have ended
